/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_make.c - taking a checkpoint, and putting one back
 *
 * A running machine is asked; what its supervisor wrote into machine/ is taken
 * out of its reach and made read-only: forks will stand on it. A suspended one
 * has its memory on the disk already; of a stopped one the disk is all.
 */
#include "cli/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
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

/* Folders of one that is being made. */
struct making {
	const struct sandbox *sandbox;
	const struct checkpoint_wish *wish;
	int control;   /* owned: to the supervisor; -1: there is none */
	int machine;   /* owned: machine/ */
	int parent;    /* owned: checkpoints/ */
	int folder;    /* owned: the new one */
	char name[32]; /* its temporary name in parent */
	struct checkpoint record;
	double pause_ms;
};

static void making_close(struct making *making)
{
	if (making->folder >= 0)
		close(making->folder);
	if (making->parent >= 0 && making->name[0])
		fileio_remove_tree(making->parent, making->name, NULL);
	if (making->parent >= 0)
		close(making->parent);
	if (making->machine >= 0)
		close(making->machine);
	if (making->control >= 0)
		close(making->control);
}
AUTO_DEFINE(making, struct making *, making_close)

static int open_dir(int parent, const char *name, struct error *err)
{
	int fd = openat(parent, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "%s", name) : fd;
}

static int making_open(struct making *making, struct error *err)
{
	int sandbox = making->sandbox->folder;

	if (mkdirat(sandbox, CHECKPOINT_FOLDER, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, CHECKPOINT_FOLDER);
	making->machine = open_dir(sandbox, SANDBOX_MACHINE_FOLDER, err);
	making->parent = open_dir(sandbox, CHECKPOINT_FOLDER, err);
	if (making->machine < 0 || making->parent < 0)
		return -1;
	sandbox_temporary_name(making->name);
	if (mkdirat(making->parent, making->name, 0700) < 0)
		return error_set(err, errno, CHECKPOINT_FOLDER);
	making->folder = open_dir(making->parent, making->name, err);
	return making->folder < 0 ? -1 : 0;
}

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
	folder = open_dir(making->machine, SNAPSHOT_MAKING, err);
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
	AUTO_CLOSE int from = open_dir(making->machine, SNAPSHOT_MAKING, err);

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

static int copy_unsynced(int from_folder, const char *from_name, int to_folder,
			 const char *to_name, struct error *err)
{
	AUTO_CLOSE int from =
		openat(from_folder, from_name,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_CLOSE int to = -1;

	if (from < 0)
		return error_set(err, errno, "%s", from_name);
	to = openat(to_folder, to_name,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (to < 0)
		return error_set(err, errno, "%s", to_name);
	if (fileio_copy_sparse(from, to, err) < 0)
		return error_prefix(err, "%s", to_name);
	return 0;
}

static int sync_file(int folder, const char *name, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? error_set(err, errno, "%s", name) : 0;
}

static int copy_file(int from_folder, const char *from_name, int to_folder,
		     const char *to_name, struct error *err)
{
	return copy_unsynced(from_folder, from_name, to_folder, to_name, err) <
			       0
		       ? -1
		       : sync_file(to_folder, to_name, err);
}

/* The memory is never written to again, only unlinked: it may be shared. */
static int from_suspended(struct making *making, struct error *err)
{
	static const char *const names[] = { SNAPSHOT_RAM, SNAPSHOT_STATE,
					     SNAPSHOT_FILE };
	AUTO_CLOSE int from =
		open_dir(making->machine, SNAPSHOT_SUSPENDED, err);

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
	return copy_file(making->sandbox->folder, CHECKPOINT_NODES,
			 making->folder, CHECKPOINT_NODES, err);
}

static int from_stopped(struct making *making, struct error *err)
{
	if (copy_file(making->machine, "disk.qcow2", making->folder,
		      SNAPSHOT_DISK, err) < 0 ||
	    seal(making->folder, SNAPSHOT_DISK, err) < 0)
		return -1;
	return resume_is_suspended(making->sandbox)
		       ? from_suspended(making, err)
		       : 0;
}

static int take(struct making *making, struct error *err)
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

static void choose_label(const struct sandbox *sandbox,
			 const struct checkpoint_wish *wish,
			 struct checkpoint *record)
{
	const char *prefix = wish->prefix ? wish->prefix : "";
	struct checkpoint other;
	time_t now = time(NULL);
	struct tm date;
	char when[32];

	record->automatic = !wish->label;
	record->created = now;
	if (wish->label) {
		text_copy(record->label, sizeof(record->label), wish->label);
		return;
	}
	localtime_r(&now, &date);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &date);
	for (int i = 0; i < 100; i++) {
		text_format(record->label, sizeof(record->label), "%s%s",
			    prefix, when);
		if (i)
			text_format(record->label + strlen(record->label), 8,
				    ".%d", i);
		if (checkpoint_find(sandbox, record->label, &other, NULL) < 0)
			return;
	}
}

static void find_parent(const struct sandbox *sandbox,
			struct checkpoint *record)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CHECKPOINT_LABEL_MAX + 2);
	struct checkpoint parent;

	if (fileio_read(sandbox->folder, CHECKPOINT_FOLDER "/.current", &text,
			NULL) == 0 &&
	    buffer_append(&text, "", 1) == 0 &&
	    checkpoint_find(sandbox, (const char *)text.data, &parent, NULL) ==
		    0)
		text_copy(record->parent, sizeof(record->parent), parent.label);
}

static int finish(struct making *making, struct error *err)
{
	const struct checkpoint *record = &making->record;
	AUTO(json)
	json_t *json = json_pack("{s:s, s:s, s:b, s:b, s:I}", "parent",
				 record->parent, "mark", record->mark, "memory",
				 record->memory, "automatic", record->automatic,
				 "created", (json_int_t)record->created);
	AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);

	/* Not before: whoever works in the sandbox would wait for the disk. */
	if (sync_file(making->folder, CHECKPOINT_SHARES, err) < 0 &&
	    err->code != ENOENT)
		return -1;
	if (!text || fileio_replace(making->folder, CHECKPOINT_FILE, text,
				    strlen(text), 0600, FILEIO_SYNC, err) < 0)
		return -1;
	if (renameat2(making->parent, making->name, making->parent,
		      record->label, RENAME_NOREPLACE) < 0)
		return error_set(err, errno, "checkpoint %s", record->label);
	making->name[0] = '\0';
	fsync(making->parent);
	return checkpoint_set_current(making->sandbox, record->label, err);
}

/* Of a kind that nobody named the oldest make room; a parent's children are
 * whole. */
static void prune(const struct sandbox *sandbox, const char *kind, size_t len,
		  size_t kept)
{
	AUTO_FREE struct checkpoint *list = NULL;
	size_t count, automatic = 0;

	if (checkpoint_list(sandbox, &list, &count, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		list[i].automatic &= !strncmp(list[i].label, kind, len);
		automatic += list[i].automatic;
	}
	for (size_t i = 0; i < count && automatic > kept; i++) {
		if (list[i].automatic &&
		    checkpoint_remove(sandbox, list[i].label, NULL) == 0)
			automatic--;
	}
}

int checkpoint_make(const struct sandbox *sandbox,
		    const struct checkpoint_wish *wish,
		    struct checkpoint_made *made, struct error *err)
{
	struct making content = { .sandbox = sandbox,
				  .wish = wish,
				  .control = -1,
				  .machine = -1,
				  .parent = -1,
				  .folder = -1 };
	AUTO(making) struct making *making = &content;
	const char *label = wish->label;
	struct checkpoint other;

	if (label && checkpoint_label_check(label, err) < 0)
		return -1;
	if (label && checkpoint_find(sandbox, label, &other, NULL) == 0)
		return error_set(err, EEXIST, "%s has a checkpoint %s already",
				 sandbox->record.name, label);
	choose_label(sandbox, wish, &making->record);
	find_parent(sandbox, &making->record);
	if (making_open(making, err) < 0)
		return -1;
	if (copy_unsynced(sandbox->folder, CHECKPOINT_SHARES, making->folder,
			  CHECKPOINT_SHARES, err) < 0 &&
	    err->code != ENOENT)
		return -1;
	if (take(making, err) < 0 || finish(making, err) < 0)
		return -1;
	text_copy(made->label, sizeof(made->label), making->record.label);
	made->pause_ms = making->pause_ms;
	if (wish->prefix)
		prune(sandbox, wish->prefix, strcspn(wish->prefix, "-") + 1,
		      wish->kept);
	return 0;
}

static int disk_of_running(struct making *making, const char *name,
			   struct error *err)
{
	AUTO_CLOSE int from = -1;

	if (offer_folder(making, err) < 0)
		return -1;
	from = open_dir(making->machine, SNAPSHOT_MAKING, err);
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
	AUTO_CLOSE int machine =
		open_dir(sandbox->folder, SANDBOX_MACHINE_FOLDER, err);
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
		result = copy_file(machine, "disk.qcow2", folder, name, err);
	}
	return result < 0 ? -1 : seal(folder, name, err);
}

int checkpoint_restore(const struct sandbox *sandbox,
		       const struct checkpoint *checkpoint, struct error *err)
{
	AUTO_FREE char *place =
		xasprintf("%s/%s", CHECKPOINT_FOLDER, checkpoint->label);
	AUTO_CLOSE int folder = open_dir(sandbox->folder, place, err);
	AUTO_CLOSE int machine =
		open_dir(sandbox->folder, SANDBOX_MACHINE_FOLDER, err);
	uid_t uid = sandbox->record.uid;

	if (folder < 0 || machine < 0)
		return -1;
	/* First of all: from here on no memory goes with the disk. */
	resume_forget(sandbox);
	if (copy_file(folder, SNAPSHOT_DISK, machine, "disk.new", err) < 0)
		return -1;
	if (uid &&
	    fchownat(machine, "disk.new", uid, uid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "disk");
	unlinkat(sandbox->folder, STORE_FRESH_FILE, 0);
	if (renameat(machine, "disk.new", machine, "disk.qcow2") < 0 ||
	    fsync(machine) < 0)
		return error_set(err, errno, "disk");
	if (checkpoint_set_current(sandbox, checkpoint->label, err) < 0)
		return -1;
	if (!checkpoint->memory)
		return 0;
	return fileio_replace(sandbox->folder, RESUME_NEXT_FILE, place,
			      strlen(place), 0600, FILEIO_SYNC, err);
}
