/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - everything that a supervisor opens before it confines itself
 *
 * The folder may have been in the hands of an earlier supervisor of the
 * sandbox's uid while we are root now: no link is followed in it.
 */
#include "supervisor/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "ipc/control.h"
#include "ipc/start_spec.h"
#include "state/events.h"
#include "state/sandbox_removal.h"
#include "state/snapshot.h"
#include "supervisor/console.h"

#define SUPERVISOR_LOG "supervisor.log"
#define SUPERVISOR_LOG_OLD "supervisor.log.old"
#define ALIVE_TRIES 20
#define ALIVE_NAP_NS 2000000
#define SUPERVISOR_LOG_MAX (1024 * 1024)
#define MIB (1024ull * 1024)

static int open_regular(const char *path, int flags, struct error *err)
{
	AUTO_CLOSE int fd =
		open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: not a regular file", path);
	if (fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
		return error_set(err, errno, "%s", path);
	return TAKE_FD(fd);
}

static int open_into(int *fd, const char *path, int flags, struct error *err)
{
	if (!path)
		return 0;
	*fd = open_regular(path, flags, err);
	return *fd < 0 ? -1 : 0;
}

/* A start appends, so that `logs` shows what went before; within bounds. */
static int open_log(int folder, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (fstatat(folder, SUPERVISOR_LOG, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > SUPERVISOR_LOG_MAX)
		renameat(folder, SUPERVISOR_LOG, folder, SUPERVISOR_LOG_OLD);
	fd = openat(folder, SUPERVISOR_LOG,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
			    O_CLOEXEC,
		    0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, SUPERVISOR_LOG);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, SUPERVISOR_LOG ": not a file");
	return TAKE_FD(fd);
}

/*
 * Whoever asks whether we live holds the lock for an instant: only one that
 * stays held is another supervisor's.
 */
static int lock_alive(int folder, struct error *err)
{
	struct timespec nap = { .tv_nsec = ALIVE_NAP_NS };
	int fd = -1;

	for (int i = 0; i < ALIVE_TRIES && fd < 0; i++) {
		if (i > 0)
			nanosleep(&nap, NULL);
		fd = fileio_lock(folder, "alive", FILEIO_LOCK_TRY, err);
		if (fd < 0 && err->code != EWOULDBLOCK)
			return -1;
	}
	return fd;
}

static int open_folder(const struct start_spec *spec, struct files *files,
		       struct error *err)
{
	AUTO_CLOSE int folder = open(
		spec->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return error_set(err, errno, "%s", spec->folder);
	/* The rest of a sandbox's folder is not ours: we read guest bytes. */
	files->folder = spec->goal == START_MAKE_WARM
				? TAKE_FD(folder)
				: openat(folder, SANDBOX_MACHINE_FOLDER,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						 O_CLOEXEC);
	if (files->folder < 0)
		return error_set(err, errno, "%s/" SANDBOX_MACHINE_FOLDER,
				 spec->folder);
	files->alive = lock_alive(files->folder, err);
	if (files->alive < 0)
		return error_prefix(err, "%s runs already", spec->name);
	files->log = open_log(files->folder, err);
	if (files->log < 0)
		return -1;
	files->console = console_open_log(files->folder, err);
	if (files->console < 0)
		return -1;
	if (spec->goal == START_MAKE_WARM)
		return 0;
	files->events = events_open(err);
	if (files->events < 0)
		return error_prefix(err, "events");
	files->control =
		control_listen(files->folder, CONTROL_SOCKET_NAME, err);
	return files->control < 0 ? -1 : 0;
}

/* A cold start's memory: nothing but holes, and no name. */
static int open_empty_ram(const struct start_spec *spec, struct files *files,
			  struct error *err)
{
	AUTO_CLOSE int fd = openat(files->folder, ".",
				   O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		fd = openat(files->folder, "ram.new",
			    O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		unlinkat(files->folder, "ram.new", 0);
	}
	if (fd < 0 || ftruncate(fd, (off_t)(spec->memory_mib * MIB)) < 0)
		return error_set(err, errno, "memory file");
	files->qemu.ram = TAKE_FD(fd);
	return 0;
}

/*
 * machine/ may have been a stranger's: a link in the snapshot's place could
 * lead to another sandbox's memory.
 */
static int open_suspended(const struct start_spec *spec, struct files *files,
			  struct error *err)
{
	AUTO_CLOSE int folder =
		openat(files->folder, SNAPSHOT_SUSPENDED,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct {
		const char *name;
		int *fd;
	} rows[] = { { SNAPSHOT_RAM, &files->qemu.ram },
		     { SNAPSHOT_STATE, &files->qemu.device_state } };
	struct stat st;

	if (folder < 0)
		return error_set(err, errno, SNAPSHOT_SUSPENDED);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		*rows[i].fd =
			openat(folder, rows[i].name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (*rows[i].fd < 0 || fstat(*rows[i].fd, &st) < 0)
			return error_set(err, errno, "%s", rows[i].name);
		/* Ours, or root's who sealed it for a checkpoint. */
		if (!S_ISREG(st.st_mode) ||
		    (st.st_uid != spec->uid && st.st_uid != geteuid()))
			return error_set(err, 0, "%s: not a file of its own",
					 rows[i].name);
	}
	return 0;
}

static int open_memory(const struct start_spec *spec, struct files *files,
		       struct error *err)
{
	bool making = spec->goal == START_MAKE_WARM;
	int make = making ? O_CREAT | O_TRUNC : 0;
	struct qemu_files *qemu = &files->qemu;

	if (spec->goal == START_COLD)
		return open_empty_ram(spec, files, err);
	if (spec->consume)
		return open_suspended(spec, files, err);
	if (open_into(&qemu->ram, spec->ram,
		      (making ? O_RDWR : O_RDONLY) | make, err) < 0 ||
	    /* QEMU opens it by descriptor, in exactly this mode. */
	    open_into(&qemu->device_state, spec->device_state,
		      (making ? O_WRONLY : O_RDONLY) | make, err) < 0)
		return -1;
	if (making && ftruncate(qemu->ram, (off_t)(spec->memory_mib * MIB)) < 0)
		return error_set(err, errno, "%s", spec->ram);
	return 0;
}

static int open_machine(const struct start_spec *spec, struct files *files,
			struct error *err)
{
	struct qemu_files *qemu = &files->qemu;

	if (open_into(&qemu->kernel, spec->kernel, O_RDONLY, err) < 0 ||
	    open_into(&qemu->initramfs, spec->initramfs, O_RDONLY, err) < 0 ||
	    open_into(&qemu->shim, spec->ram_shim, O_RDONLY, err) < 0 ||
	    open_memory(spec, files, err) < 0)
		return -1;
	if (spec->accel == START_ACCEL_KVM) {
		qemu->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
		if (qemu->kvm < 0)
			return error_set(err, errno, "/dev/kvm");
	}
	for (unsigned i = 0; i < spec->disk_count; i++) {
		if (open_into(&qemu->disks[i], spec->disks[i],
			      i == 0 ? O_RDWR : O_RDONLY, err) < 0)
			return -1;
	}
	return open_into(&qemu->spool, spec->spool, O_RDWR, err);
}

/* Only what is written after the drop; the rest stays root's. */
static int give_away(const struct start_spec *spec, const struct files *files,
		     struct error *err)
{
	const int given[] = { files->folder, files->alive, files->log,
			      files->console };

	if (geteuid() != 0 || !spec->uid)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (fchown(given[i], spec->uid, spec->gid) < 0)
			return error_set(err, errno, "%s: owner", spec->folder);
	}
	if (files->control >= 0 &&
	    fchownat(files->folder, CONTROL_SOCKET_NAME, spec->uid, spec->gid,
		     AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, CONTROL_SOCKET_NAME);
	return 0;
}

int files_open(const struct start_spec *spec, struct files *files,
	       struct error *err)
{
	*files = (struct files){
		.folder = -1,
		.alive = -1,
		.events = -1,
		.log = -1,
		.console = -1,
		.control = -1,
		.qemu = { .ram = -1,
			  .device_state = -1,
			  .kernel = -1,
			  .initramfs = -1,
			  .shim = -1,
			  .kvm = -1,
			  .files_port = -1,
			  .net_port = -1,
			  .slots = -1,
			  .to_guest = -1,
			  .from_guest = -1,
			  .bell = -1,
			  .spool = -1 },
	};
	for (unsigned i = 0; i < START_DISKS_MAX; i++)
		files->qemu.disks[i] = -1;
	if (open_folder(spec, files, err) < 0 ||
	    open_machine(spec, files, err) < 0 ||
	    give_away(spec, files, err) < 0)
		return -1;
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void files_close(struct files *files)
{
	close_one(&files->console);
	close_one(&files->events);
	close_one(&files->control);
	close_one(&files->qemu.ram);
	close_one(&files->qemu.device_state);
	close_one(&files->qemu.kernel);
	close_one(&files->qemu.initramfs);
	close_one(&files->qemu.shim);
	close_one(&files->qemu.kvm);
	for (unsigned i = 0; i < START_DISKS_MAX; i++)
		close_one(&files->qemu.disks[i]);
	close_one(&files->qemu.spool);
	close_one(&files->log);
	close_one(&files->folder);
	/* Last: whoever waits for it finds everything else done. */
	close_one(&files->alive);
}
