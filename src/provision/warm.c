/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm.c - finding and making warm images
 *
 * An image is made in .tmp-NAME and renamed when all of it is on the disk. Its
 * name is its key; should the image of that name be damaged while a sandbox's
 * disk stands on it, the next one is called KEY.1, because another disk under
 * the same name would destroy that sandbox.
 */
#include "provision/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "provision/host_cpu.h"
#include "provision/kernel.h"
#include "provision/machine.h"
#include "provision/maker.h"
#include "provision/template.h"
#include "provision/warm_internal.h"
#include "state/digest.h"
#include "state/paths.h"

#define MIB (1024ull * 1024)
#define BOOT_TIMEOUT_TCG_MS 180000
#define BOOT_TIMEOUT_KVM_MS 30000
#define RAM_USED_MIB 640 /* what a boot and the first programs touch */
#define DISK_USED_MIB 128
#define NAMES_MAX 10
#define FAILED_LOG ".failed.log" /* of the last one that failed */

char *warm_key(const struct warm_parts *parts)
{
	AUTO_FREE char *text =
		xasprintf("machine %d %s\nqemu %s\ntemplate %s\nkernel %s\n"
			  "initramfs %s\naccel %d\ncpu %s\nhost %s\nappend %s\n"
			  "cpus %u\nmemory %u\ndisk %llu\n",
			  START_MACHINE_VERSION, parts->machine, parts->qemu,
			  parts->template_id, parts->kernel, parts->initramfs,
			  (int)parts->accel, parts->cpu, parts->host_cpu,
			  parts->append, parts->cpus, parts->memory_mib,
			  (unsigned long long)parts->disk_bytes);
	char *key = xmalloc(DIGEST_HEX);

	digest_bytes(text, strlen(text), key);
	/* Half of it is unique enough and fits in a table. */
	key[32] = '\0';
	return key;
}

static void fill_parts(struct warm_parts *parts,
		       const struct warm_request *request,
		       const struct machine *machine, const char *host_cpu)
{
	*parts = (struct warm_parts){
		.machine = machine->type,
		.qemu = machine->identity,
		.template_name = request->template->name,
		.template_id = request->template->id,
		.kernel = request->kernel->key,
		.initramfs = request->kernel->initramfs_key,
		.accel = request->accel,
		.cpu = machine_cpu_model(request->accel),
		.host_cpu = host_cpu,
		.append = machine_kernel_args_fixed(request->accel),
		.cpus = request->cpus,
		.memory_mib = request->memory_mib,
		.disk_bytes = request->disk_bytes,
	};
}

static int check_space(int folder, struct error *err)
{
	uint64_t need = (RAM_USED_MIB + DISK_USED_MIB) * MIB, have;
	AUTO_FREE char *path = paths_of(PATHS_DATA, "warm", NULL);
	struct statvfs space;
	char room[32];

	if (fstatvfs(folder, &space) < 0)
		return error_set(err, errno, "%s", path);
	have = (uint64_t)space.f_bavail * space.f_frsize;
	if (have >= need)
		return 0;
	text_from_size(have, room, sizeof(room));
	return error_set(err, ENOSPC,
			 "%s: a warm image needs about %llu MB, and there are "
			 "%s",
			 path, (unsigned long long)(need / MIB), room);
}

static void fill_spec(struct start_spec *spec,
		      const struct warm_request *request,
		      const struct machine *machine, const char *folder)
{
	bool kvm = request->accel == START_ACCEL_KVM;

	*spec = (struct start_spec){
		.goal = START_MAKE_WARM,
		.accel = request->accel,
		.name = xstrdup("bawn"),
		.id = maker_id(),
		.folder = xstrdup(folder),
		.qemu = xstrdup(machine->qemu),
		.ram = xasprintf("%s/" WARM_RAM, folder),
		.device_state = xasprintf("%s/" WARM_STATE, folder),
		.kernel = xstrdup(request->kernel->vmlinux),
		.initramfs = xstrdup(request->kernel->initramfs),
		.disks = { xasprintf("%s/" WARM_DISK, folder),
			   xstrdup(request->template->disk) },
		.disk_count = 2,
		.cpus = request->cpus,
		.memory_mib = request->memory_mib,
		.machine = xstrdup(machine->type),
		.cpu = xstrdup(machine_cpu_model(request->accel)),
		.append = xasprintf("%s bawn.prime",
				    machine_kernel_args(request->accel)),
		.boot_timeout_ms =
			kvm ? BOOT_TIMEOUT_KVM_MS : BOOT_TIMEOUT_TCG_MS,
	};
}

/* Boots the machine in folder; the marker is malloc'd. */
static char *boot_and_save(const struct warm_request *request,
			   const struct machine *machine, const char *folder,
			   struct error *err)
{
	struct start_spec spec;
	json_t *answer = NULL;
	const char *marker;
	char *copy = NULL;

	fill_spec(&spec, request, machine, folder);
	if (maker_disk(spec.disks[0], request->disk_bytes, err) == 0)
		answer = maker_run(&spec, err);
	start_spec_release(&spec);
	marker = json_string_value(json_object_get(answer, "marker"));
	if (answer && !marker)
		error_set(err, 0, "the supervisor gave no marker");
	if (marker)
		copy = xstrdup(marker);
	json_decref(answer);
	return copy;
}

/* The folder was the maker's, the file must be ours: it made no other. */
static int seal(int folder, const char *name, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return error_set(err, 0, "%s: not a file of ours", name);
	return fchmod(fd, 0444) < 0 ? error_set(err, errno, "%s", name) : 0;
}

/* What the maker left behind, and who owns the folder now. */
static int tidy(int folder, struct error *err)
{
	static const char *const leftovers[] = { "alive", "console.log",
						 "console.log.old",
						 "supervisor.log" };
	static const char *const kept[] = { WARM_RAM, WARM_STATE, WARM_DISK };

	if (fchown(folder, geteuid(), getegid()) < 0 ||
	    fchmod(folder, 0700) < 0)
		return error_set(err, errno, "warm image");
	for (size_t i = 0; i < ARRAY_SIZE(leftovers); i++)
		unlinkat(folder, leftovers[i], 0);
	/* Shared by every sandbox from now on: nobody may write to them. */
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (seal(folder, kept[i], err) < 0)
			return -1;
	}
	return 0;
}

static int make_in(int parent, const char *temporary, const char *name,
		   const struct warm_request *request,
		   const struct warm_parts *parts,
		   const struct machine *machine, struct error *err)
{
	AUTO_FREE char *sub = xasprintf("warm/%s", temporary);
	AUTO_FREE char *path = paths_of(PATHS_DATA, sub, err);
	AUTO_FREE char *all = paths_of(PATHS_DATA, "warm", err);
	AUTO_FREE char *marker = NULL;
	AUTO_CLOSE int folder = -1;

	if (!path || !all)
		return -1;
	if (mkdirat(parent, temporary, 0700) < 0)
		return error_set(err, errno, "%s", path);
	folder = openat(parent, temporary,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_set(err, errno, "%s", path);
	marker = boot_and_save(request, machine, path, err);
	if (!marker || tidy(folder, err) < 0 ||
	    warm_manifest_save(folder, parts, marker, err) < 0)
		return -1;
	if (fsync(folder) < 0 || renameat(parent, temporary, parent, name) < 0)
		return error_set(err, errno, "%s", path);
	return fileio_sync_dir(all, err);
}

/* Of a machine that failed nothing else is left that tells why. */
static void keep_log(int parent, const char *temporary, struct error *err)
{
	AUTO_FREE char *log = xasprintf("%s/supervisor.log", temporary);
	AUTO_FREE char *path = paths_of(PATHS_DATA, "warm/" FAILED_LOG, NULL);
	AUTO_CLOSE int fd = openat(
		parent, log, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int code = err->code;
	struct stat st;

	/* It was the maker's, and so was the folder. */
	if (!path || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 1 || fchown(fd, geteuid(), getegid()) < 0 ||
	    renameat(parent, log, parent, FAILED_LOG) < 0)
		return;
	error_set(err, 0, "%s (its log: %s)", err->text, path);
	err->code = code;
}

static int make(int parent, const char *name,
		const struct warm_request *request,
		const struct warm_parts *parts, const struct machine *machine,
		const struct progress *progress, struct error *err)
{
	AUTO_FREE char *temporary = xasprintf(".tmp-%s", name);
	int result;

	if (check_space(parent, err) < 0)
		return -1;
	/* We hold the lock: what is there was left by a killed process. */
	if (fileio_remove_tree(parent, temporary, err) < 0)
		return -1;
	progress_step(progress, "making a warm image (once for each template "
				"and size)");
	result = make_in(parent, temporary, name, request, parts, machine, err);
	progress_done(progress);
	if (result < 0) {
		keep_log(parent, temporary, err);
		fileio_remove_tree(parent, temporary, NULL);
		return error_prefix(err, "making a warm image");
	}
	warm_prune(NULL, NULL);
	return 0;
}

static int lock_name(int parent, const char *name,
		     const struct progress *progress, struct error *err)
{
	AUTO_FREE char *file = xasprintf(".lock-%s", name);
	int fd = fileio_lock(parent, file, FILEIO_LOCK_TRY, err);

	if (fd >= 0 || err->code != EWOULDBLOCK)
		return fd;
	progress_step(progress, "waiting for the same warm image, which "
				"another bawn is making");
	fd = fileio_lock(parent, file, FILEIO_LOCK_WAIT, err);
	progress_done(progress);
	return fd;
}

/* 1: found. 0: this name is free to be made. -1: try the next name. */
static int try_name(int parent, const char *name,
		    const struct progress *progress, struct warm *warm,
		    struct error *err)
{
	if (warm_find(name, warm, err) == 0)
		return 1;
	if (err->code == ENOENT)
		return 0;
	progress_step(progress, "the warm image is damaged and is not loaded; "
				"it is made again");
	progress_done(progress);
	if (warm_is_used(name))
		return -1;
	return fileio_remove_tree(parent, name, err) < 0 ? -1 : 0;
}

static int ensure(const char *key, const struct warm_request *request,
		  const struct warm_parts *parts, const struct machine *machine,
		  const struct progress *progress, struct warm *warm,
		  struct error *err)
{
	AUTO_CLOSE int parent = paths_open(PATHS_DATA, "warm", err);

	for (int i = 0; parent >= 0 && i < NAMES_MAX; i++) {
		AUTO_FREE char *name =
			i ? xasprintf("%s.%d", key, i) : xstrdup(key);
		AUTO_CLOSE int lock = -1;
		int found;

		/* The common case takes no lock. */
		if (warm_find(name, warm, err) == 0)
			return 0;
		lock = lock_name(parent, name, progress, err);
		if (lock < 0)
			return -1;
		found = try_name(parent, name, progress, warm, err);
		if (found > 0)
			return 0;
		if (found < 0)
			continue;
		if (make(parent, name, request, parts, machine, progress, err) <
		    0)
			return -1;
		return warm_find(name, warm, err);
	}
	return -1;
}

int warm_ensure(const struct warm_request *request,
		const struct progress *progress, struct warm *warm,
		struct error *err)
{
	AUTO_FREE char *host_cpu = host_cpu_model();
	AUTO_FREE char *key = NULL;
	struct warm_parts parts;
	struct machine machine;
	struct error local = { 0 };
	int result;

	/* The code of an error decides here, so there must be one. */
	if (!err)
		err = &local;
	if (request->disk_bytes < request->template->size_bytes)
		return error_set(
			err, 0,
			"--disk: the template %s needs at least "
			"%llu MB",
			request->template->name,
			(unsigned long long)(request->template->size_bytes /
						     1000000 +
					     1));
	if (machine_find(&machine, err) < 0)
		return -1;
	fill_parts(&parts, request, &machine, host_cpu);
	key = warm_key(&parts);
	result = ensure(key, request, &parts, &machine, progress, warm, err);
	machine_release(&machine);
	return result;
}

void warm_release(struct warm *warm)
{
	free(warm->key);
	free(warm->folder);
	free(warm->ram);
	free(warm->device_state);
	free(warm->disk);
	free(warm->marker);
	free(warm->machine);
	free(warm->cpu);
	*warm = (struct warm){ 0 };
}
