/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_take.c - memory and disk of a sandbox as they are now
 *
 * A running machine is asked; what its supervisor wrote into machine/ is taken
 * out of its reach and made read-only: forks will stand on it. A suspended one
 * has its memory on the disk already; of a stopped one the disk is all.
 */
#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint_internal.h"
#include "cli/mark.h"
#include "cli/resume.h"
#include "cli/store.h"
#include "ipc/control.h"
#include "provision/qcow2.h"
#include "state/snapshot.h"

#define ANSWER_SECONDS 600
#define MARK "checkpoint:"
#define ENDING_NAP_NS 10000000L
#define ENDING_TRIES 3000

AUTO_DEFINE(json, json_t *, json_decref)

/* Read-only, and nobody's but the user's: forks will share it. */
static int seal(int folder, const char *name, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: not a file", name);
	if ((st.st_uid != geteuid() && fchown(fd, geteuid(), getegid()) < 0) ||
	    fchmod(fd, 0400) < 0)
		return error_set(err, errno, "%s", name);
	return 0;
}

/* An empty layer, which QEMU fills. */
static int offer_folder(const struct making *making, struct error *err)
{
	const struct sandbox_record *record = &making->sandbox->record;
	AUTO_CLOSE int folder = -1;
	AUTO_CLOSE int disk = -1;

	fileio_remove_tree(making->machine, SNAPSHOT_MAKING, NULL);
	if (mkdirat(making->machine, SNAPSHOT_MAKING, 0700) < 0)
		return error_set(err, errno, SNAPSHOT_MAKING);
	folder = checkpoint_open_dir(making->machine, SNAPSHOT_MAKING, err);
	if (folder < 0)
		return -1;
	disk = openat(folder, SNAPSHOT_DISK,
		      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (disk < 0)
		return error_set(err, errno, SNAPSHOT_DISK);
	if (qcow2_create(disk, record->disk_bytes, err) < 0)
		return -1;
	if (record->uid && (fchown(disk, record->uid, record->uid) < 0 ||
			    fchown(folder, record->uid, record->uid) < 0))
		return error_set(err, errno, SNAPSHOT_MAKING);
	return 0;
}

static void on_progress(void *ctx, const json_t *line)
{
	const struct making *making = ctx;

	(void)line; /* there is but one kind */
	if (making->wish && making->wish->went_on)
		making->wish->went_on(making->wish->ctx, making->record.label);
}

/* A machine that is about to end is waited for: then there is no memory. */
static int find_machine(struct making *making, struct error *err)
{
	const struct timespec nap = { .tv_nsec = ENDING_NAP_NS };
	int folder = making->sandbox->folder;

	for (int i = 0; i < ENDING_TRIES; i++) {
		if (fileio_is_locked(folder, STORE_ALIVE_FILE) != 1)
			return 0;
		making->control = control_connect(folder, err);
		if (making->control >= 0)
			return 0;
		if (err->code != ENOENT && err->code != ECONNREFUSED)
			return -1;
		nanosleep(&nap, NULL);
	}
	return error_set(err, ETIMEDOUT, "its supervisor does not answer");
}

/* Of memory and disk, or of the disk alone. */
static json_t *request_of(const struct making *making, bool memory)
{
	if (!memory)
		return json_pack("{s:s, s:b}", "op", "checkpoint", "memory", 0);
	return json_pack("{s:s, s:o*}", "op", "checkpoint", "at_once",
			 making->wish->at_once ? json_true() : NULL);
}

static int ask(struct making *making, bool memory, struct error *err)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int fd = TAKE_FD(making->control);
	struct control_client client;
	AUTO(json) json_t *answer = NULL;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	control_client_init(&client, fd);
	answer = control_call_watched(&client, request_of(making, memory),
				      on_progress, making, err);
	control_client_release(&client);
	if (!answer)
		return -1;
	making->pause_ms =
		json_number_value(json_object_get(answer, "pause_ms"));
	return 0;
}

/* Out of the supervisor's reach; no link is followed. */
static int take_files(const struct making *making, struct error *err)
{
	static const char *const names[] = { SNAPSHOT_RAM, SNAPSHOT_STATE,
					     SNAPSHOT_DISK, SNAPSHOT_FILE };
	AUTO_CLOSE int from =
		checkpoint_open_dir(making->machine, SNAPSHOT_MAKING, err);

	if (from < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (renameat(from, names[i], making->folder, names[i]) < 0)
			return error_set(err, errno, "%s", names[i]);
		if (seal(making->folder, names[i], err) < 0)
			return -1;
	}
	unlinkat(making->machine, SNAPSHOT_MAKING, AT_REMOVEDIR);
	if (snapshot_complete(making->folder, err) < 0)
		return -1;
	if (renameat(making->sandbox->folder, CHECKPOINT_NODES, making->folder,
		     CHECKPOINT_NODES) < 0 &&
	    errno != ENOENT)
		return error_set(err, errno, CHECKPOINT_NODES);
	return 0;
}

/* Where the journal of the workspace stands now. */
static void set_mark(struct making *making)
{
	const struct sandbox_record *record = &making->sandbox->record;
	const char *given = making->wish->mark;
	struct error err = { 0 };
	char mark[sizeof(making->record.mark)];

	if (!record->shares.count || strcmp(record->mode, "direct") != 0)
		return;
	text_format(mark, sizeof(mark), MARK "%s", making->record.label);
	if (given || mark_set(making->sandbox, mark, &err) == 0)
		text_copy(making->record.mark, sizeof(mark),
			  given ? given : mark);
	else
		log_debug("no mark: %s", err.text);
}

static int from_running(struct making *making, struct error *err)
{
	set_mark(making);
	making->record.memory = true;
	if (offer_folder(making, err) < 0)
		return -1;
	if (ask(making, true, err) < 0 || take_files(making, err) < 0) {
		fileio_remove_tree(making->machine, SNAPSHOT_MAKING, NULL);
		return -1;
	}
	return 0;
}

/* The memory is never written to again, only unlinked: it may be shared. */
static int from_suspended(struct making *making, struct error *err)
{
	static const char *const names[] = { SNAPSHOT_RAM, SNAPSHOT_STATE,
					     SNAPSHOT_FILE };
	AUTO_CLOSE int from =
		checkpoint_open_dir(making->machine, SNAPSHOT_SUSPENDED, err);

	if (from < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (linkat(from, names[i], making->folder, names[i], 0) < 0)
			return error_set(err, errno, "%s", names[i]);
		if (seal(making->folder, names[i], err) < 0)
			return -1;
	}
	making->record.memory = true;
	if (faccessat(making->sandbox->folder, CHECKPOINT_NODES, F_OK, 0) < 0)
		return 0;
	return checkpoint_copy_file(making->sandbox->folder, CHECKPOINT_NODES,
				    making->folder, CHECKPOINT_NODES, err);
}

static int from_stopped(struct making *making, struct error *err)
{
	if (checkpoint_copy_file(making->machine, "disk.qcow2", making->folder,
				 SNAPSHOT_DISK, err) < 0 ||
	    seal(making->folder, SNAPSHOT_DISK, err) < 0)
		return -1;
	return resume_is_suspended(making->sandbox)
		       ? from_suspended(making, err)
		       : 0;
}

int checkpoint_take(struct making *making, struct error *err)
{
	for (int i = 0; i < 2; i++) {
		if (find_machine(making, err) < 0)
			return -1;
		if (making->control < 0)
			return from_stopped(making, err);
		if (from_running(making, err) == 0)
			return 0;
		if (err->code != ESHUTDOWN && err->code != ECONNRESET &&
		    err->code != EPIPE)
			return -1;
		/* It was ending when we asked. */
		making->record.memory = false;
		making->record.mark[0] = '\0';
	}
	return -1;
}

static int disk_of_running(struct making *making, const char *name,
			   struct error *err)
{
	AUTO_CLOSE int from = -1;

	if (offer_folder(making, err) < 0)
		return -1;
	from = checkpoint_open_dir(making->machine, SNAPSHOT_MAKING, err);
	if (from < 0 || ask(making, false, err) < 0)
		return -1;
	return renameat(from, SNAPSHOT_DISK, making->folder, name) < 0
		       ? error_set(err, errno, SNAPSHOT_DISK)
		       : 0;
}

int checkpoint_take_disk(const struct sandbox *sandbox, int folder,
			 const char *name, struct error *err)
{
	struct making making = { .sandbox = sandbox,
				 .control = -1,
				 .folder = folder };
	AUTO_CLOSE int machine = checkpoint_open_dir(
		sandbox->folder, SANDBOX_MACHINE_FOLDER, err);
	int result;

	if (machine < 0 || find_machine(&making, err) < 0)
		return -1;
	making.machine = machine;
	if (making.control >= 0) {
		result = disk_of_running(&making, name, err);
		if (making.control >= 0)
			close(making.control);
		fileio_remove_tree(machine, SNAPSHOT_MAKING, NULL);
	} else {
		result = checkpoint_copy_file(machine, "disk.qcow2", folder,
					      name, err);
	}
	return result < 0 ? -1 : seal(folder, name, err);
}
