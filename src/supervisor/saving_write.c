/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving_write.c - the files of a snapshot: memory, devices, and last of all
 * the manifest, without which there is none
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "state/snapshot.h"
#include "supervisor/sandbox.h"
#include "supervisor/saving_internal.h"

#define RESERVE "reserve"

static const char *folder_name(const struct saving *saving)
{
	return saving->kind == SAVING_SUSPEND ? SNAPSHOT_SUSPENDED
					      : SNAPSHOT_MAKING;
}

static int make(int folder, const char *name, int mode, struct error *err)
{
	int fd =
		openat(folder, name,
		       mode | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? error_set(err, errno, "snapshot: %s", name) : fd;
}

static int open_memory(struct saving *saving, struct error *err)
{
	unlinkat(saving->folder, SNAPSHOT_FILE, 0);
	saving->ram = make(saving->folder, SNAPSHOT_RAM, O_RDWR, err);
	if (saving->ram < 0)
		return -1;
	/* QEMU opens it by descriptor, in exactly this mode. */
	saving->state = make(saving->folder, SNAPSHOT_STATE, O_WRONLY, err);
	return saving->state < 0 ? -1 : 0;
}

int saving_open_files(struct sandbox *sandbox, struct error *err)
{
	struct saving *saving = &sandbox->saving;
	int machine = sandbox->files->folder;
	const char *name = folder_name(saving);

	if (saving->kind == SAVING_SUSPEND &&
	    mkdirat(machine, name, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "snapshot");
	saving->folder = openat(
		machine, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (saving->folder < 0)
		return error_set(err, errno, "snapshot");
	if (saving->kind != SAVING_DISK && open_memory(saving, err) < 0)
		return -1;
	if (saving->kind == SAVING_SUSPEND)
		return 0;
	saving->disk = openat(saving->folder, SNAPSHOT_DISK,
			      O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return saving->disk < 0 ? error_set(err, errno, SNAPSHOT_DISK) : 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void saving_close_files(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	close_one(&saving->ram);
	close_one(&saving->state);
	close_one(&saving->disk);
	close_one(&saving->folder);
}

void saving_remove_files(struct sandbox *sandbox)
{
	struct saving *saving = &sandbox->saving;

	if (saving->folder >= 0) {
		unlinkat(saving->folder, RESERVE, 0);
		unlinkat(saving->folder, SNAPSHOT_FILE, 0);
		unlinkat(saving->folder, SNAPSHOT_RAM, 0);
		unlinkat(saving->folder, SNAPSHOT_STATE, 0);
		unlinkat(saving->folder, SNAPSHOT_DISK, 0);
	}
	saving_close_files(sandbox);
	unlinkat(sandbox->files->folder, folder_name(saving), AT_REMOVEDIR);
}

int saving_sync(struct sandbox *sandbox, struct error *err)
{
	struct saving *saving = &sandbox->saving;

	if (fsync(saving->ram) < 0 || fsync(saving->state) < 0 ||
	    (saving->disk >= 0 && fsync(saving->disk) < 0))
		return error_set(err, errno, "snapshot");
	return 0;
}

/*
 * The manifest is written when QEMU has gone, and with it the memory: a disk
 * that is full by then must be noticed now.
 */
int saving_reserve(struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int fd =
		make(sandbox->saving.folder, RESERVE, O_WRONLY, err);

	if (fd < 0)
		return -1;
	if (fallocate(fd, 0, 0, SNAPSHOT_BYTES_MAX) < 0 && errno != EOPNOTSUPP)
		return error_set(err, errno, "snapshot");
	return 0;
}

static json_t *sessions_json(struct sandbox *sandbox)
{
	json_t *list = json_array();

	LIST_FOR_EACH(node, &sandbox->sessions.all) {
		const struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->pid)
			json_array_append_new(list, session_save(session));
	}
	return list;
}

/* Reopened: QEMU writes the devices' state through a descriptor of ours, which
 * cannot be read. */
static int sum_state(const struct saving *saving, char sum[65],
		     struct error *err)
{
	AUTO_CLOSE int fd = openat(saving->folder, SNAPSHOT_STATE,
				   O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, errno, SNAPSHOT_STATE);
	return snapshot_sum(fd, sum, err);
}

static void describe(const struct sandbox *sandbox, struct snapshot *snapshot)
{
	const struct start_spec *spec = sandbox->spec;

	*snapshot = (struct snapshot){
		.cpus = spec->cpus,
		.memory_mib = spec->memory_mib,
		.quiet = true,
		.created = time(NULL),
		.next_session = sandbox->sessions.next_id,
	};
	text_copy(snapshot->key, sizeof(snapshot->key),
		  spec->key ? spec->key : "");
	text_copy(snapshot->facts, sizeof(snapshot->facts),
		  spec->facts ? spec->facts : "");
	text_hex(sandbox->marker, sizeof(sandbox->marker), snapshot->marker);
	text_copy(snapshot->accel, sizeof(snapshot->accel),
		  spec->accel == START_ACCEL_KVM ? "kvm" : "tcg");
	text_copy(snapshot->machine, sizeof(snapshot->machine), spec->machine);
	text_copy(snapshot->cpu, sizeof(snapshot->cpu), spec->cpu);
}

/* A suspended machine's disk is noted when QEMU has closed it. */
static int note_files(struct sandbox *sandbox, struct snapshot *snapshot,
		      struct error *err)
{
	struct saving *saving = &sandbox->saving;
	int disk = saving->disk >= 0 ? saving->disk
				     : sandbox->files->qemu.disks[0];

	if (snapshot_note(saving->ram, &snapshot->ram, err) < 0 ||
	    snapshot_note(saving->state, &snapshot->state, err) < 0 ||
	    snapshot_note(disk, &snapshot->disk, err) < 0)
		return -1;
	text_format(snapshot->ram.sum, sizeof(snapshot->ram.sum), "%016llx",
		    (unsigned long long)saving->image.sum);
	if (saving->kind != SAVING_SUSPEND)
		return 0;
	return sum_state(saving, snapshot->state.sum, err);
}

int saving_write_manifest(struct sandbox *sandbox, struct error *err)
{
	struct snapshot snapshot;
	AUTO_FREE char *text = NULL;
	int result;

	describe(sandbox, &snapshot);
	if (note_files(sandbox, &snapshot, err) < 0)
		return -1;
	snapshot.sessions = sessions_json(sandbox);
	text = snapshot_encode(&snapshot);
	snapshot_release(&snapshot);
	if (!text)
		return error_set(err, EILSEQ, SNAPSHOT_FILE);
	unlinkat(sandbox->saving.folder, RESERVE, 0);
	result = fileio_replace(
		sandbox->saving.folder, SNAPSHOT_FILE, text, strlen(text), 0600,
		sandbox->saving.kind == SAVING_SUSPEND ? FILEIO_SYNC : 0, err);
	return result < 0 ? error_prefix(err, SNAPSHOT_FILE) : 0;
}
