/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo.c - segments of the journal: begun at a mark, gone on with after a crash
 *
 * A segment without its file `complete` has a hole that not even a record
 * tells of: the disk was full. Removing a file works also then.
 */
#include "files/undo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "files/server.h"
#include "undo/segment.h"
#include "undo/place.h"

#define LOST_MAX 1000
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void undo_init(struct undo *undo, int memory_fd)
{
	struct stat st;

	undo->fresh =
		memory_fd < 0 || fstat(memory_fd, &st) < 0 || st.st_size == 0;
	undo->folder = undo->segment = undo->files = undo->journal = -1;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Nothing more is written down in this segment. */
static void give_up(struct undo *undo, const char *why)
{
	log_warn("undo is incomplete from here on: %s", why);
	unlinkat(undo->segment, SEGMENT_COMPLETE, 0);
	close_fd(&undo->journal);
	undo->pending = 0;
}

int undo_append(struct undo *undo, const struct journal_record *record)
{
	size_t len = journal_encode(record, undo->scratch, JOURNAL_RECORD_MAX);
	ssize_t done;

	if (undo->journal < 0)
		return -1;
	if (!len || undo->journal_bytes + len > JOURNAL_BYTES_MAX) {
		give_up(undo, "the journal is full");
		return -1;
	}
	done = write(undo->journal, undo->scratch, len);
	if (done != (ssize_t)len) {
		int code = done < 0 ? errno : ENOSPC;

		if (ftruncate(undo->journal, (off_t)undo->journal_bytes) < 0)
			log_warn("undo journal: torn");
		give_up(undo, strerror(code));
		return -1;
	}
	undo->journal_bytes += len;
	return 0;
}

void undo_lost(struct undo *undo, unsigned share, const char *path,
	       const char *why)
{
	struct journal_record record = { .type = JOURNAL_LOST,
					 .share = (uint8_t)share,
					 .path = path,
					 .text = why };

	if (undo->lost++ < LOST_MAX)
		undo_append(undo, &record);
}

int undo_charge(struct undo *undo, uint64_t bytes)
{
	while (undo->older_bytes + undo->saved_bytes + bytes >
	       undo->limit_bytes) {
		if (!undo_prune_oldest(undo))
			return -1;
	}
	undo->saved_bytes += bytes;
	return 0;
}

static void write_size(struct undo *undo)
{
	struct error err = { 0 };
	char text[32];

	text_format(text, sizeof(text), "%llu\n",
		    (unsigned long long)undo->saved_bytes);
	if (undo->segment >= 0)
		segment_write(undo->segment, SEGMENT_SIZE, text, &err);
}

static int note(struct undo *undo, enum journal_type type)
{
	struct journal_record record = {
		.type = type,
		.file = { .mtime_ns = (int64_t)time(NULL) * 1000000000 },
		.path = "",
		.text = "",
	};

	return undo_append(undo, &record);
}

/* Says when it was last written to, also while nothing need be noted. */
void undo_beat(struct server *server)
{
	const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT },
					 { .tv_nsec = UTIME_NOW } };

	if (server->undo.journal >= 0)
		futimens(server->undo.journal, now);
}

static void close_segment(struct server *server)
{
	struct undo *undo = &server->undo;

	if (undo->journal >= 0) {
		for (uint32_t i = server->fds.oldest; i;) {
			struct node *node = node_at(server->nodes, i);

			i = node->newer;
			if (node->fd_rights & NODE_FD_WRITE)
				undo_settle(server, node);
		}
	}
	note(undo, JOURNAL_END);
	write_size(undo);
	close_fd(&undo->journal);
	close_fd(&undo->files);
	close_fd(&undo->segment);
	undo->older_bytes += undo->saved_bytes;
	undo->saved_bytes = undo->journal_bytes = 0;
	undo->saved = undo->lost = undo->pending = 0;
	undo_set_clear(&undo->set);
}

static int note_shares(struct server *server)
{
	for (unsigned i = 0; i < server->share_count; i++) {
		struct journal_record record = { .type = JOURNAL_SHARE,
						 .share = (uint8_t)i,
						 .path = server->shares[i].path,
						 .text = "" };

		if (!server->shares[i].gone &&
		    undo_append(&server->undo, &record) < 0)
			return -1;
	}
	return 0;
}

static int make_in(struct undo *undo, const char *name, struct error *err)
{
	if (mkdirat(undo->folder, name, 0700) < 0)
		return error_set(err, errno, "undo segment");
	undo->segment = openat(undo->folder, name, FOLDER_FLAGS);
	if (undo->segment < 0 ||
	    mkdirat(undo->segment, SEGMENT_FILES, 0700) < 0)
		return error_set(err, errno, "undo segment");
	undo->files = openat(undo->segment, SEGMENT_FILES, FOLDER_FLAGS);
	undo->journal = openat(undo->segment, SEGMENT_JOURNAL,
			       O_RDWR | O_CREAT | O_EXCL | O_APPEND |
				       O_NOFOLLOW | O_CLOEXEC,
			       0600);
	if (undo->files < 0 || undo->journal < 0)
		return error_set(err, errno, "undo segment");
	return segment_write(undo->segment, SEGMENT_COMPLETE, "", err);
}

static int make_segment(struct server *server, const char *label,
			struct error *err)
{
	struct undo *undo = &server->undo;
	uint8_t head[JOURNAL_HEAD_BYTES];
	char name[16];

	if (undo->number == SEGMENT_NUMBER_MAX)
		return error_set(err, 0, "too many marks");
	segment_name(++undo->number, name);
	if (make_in(undo, name, err) < 0)
		return -1;
	journal_head(head);
	if (fileio_write_all(undo->journal, head, sizeof(head), err) < 0)
		return -1;
	undo->journal_bytes = sizeof(head);
	if (note_shares(server) < 0)
		return error_set(err, 0, "undo journal");
	undo->empty_bytes = undo->journal_bytes;
	undo->is_run = text_starts(label, SEGMENT_RUN);
	/* With its label it is there. */
	return segment_write_label(undo->segment, label, time(NULL), err);
}

/* A run that changed nothing need not be told from the next. */
static bool is_same_mark(const struct undo *undo, const char *label)
{
	return undo->journal >= 0 && undo->journal_bytes == undo->empty_bytes &&
	       undo->is_run && text_starts(label, SEGMENT_RUN);
}

int undo_mark(struct server *server, const char *label, struct error *err)
{
	struct undo *undo = &server->undo;

	if (undo->folder < 0)
		return error_set(err, 0, "nothing is kept for undo here");
	if (!journal_label_is_good(label))
		return error_set(err, 0,
				 "a label has up to %d letters, digits and "
				 ". _ : + -",
				 JOURNAL_LABEL_MAX);
	if (is_same_mark(undo, label))
		return segment_write_label(undo->segment, label, time(NULL),
					   err);
	close_segment(server);
	if (make_segment(server, label, err) < 0) {
		close_fd(&undo->journal);
		return error_prefix(err, "undo is off");
	}
	undo_prune_start(server);
	return 0;
}

/* What a record says about inodes that this process did not see itself. */
static void learn(struct undo *undo, const struct journal_record *record)
{
	struct node_key key = { .dev = record->file.dev,
				.ino = record->file.ino,
				.btime_ns = record->file.btime_ns,
				.share = record->share };
	unsigned known = undo_set_flags(&undo->set, &key, NULL);

	if (record->number > undo->saved && record->type != JOURNAL_CANCEL)
		undo->saved = record->number;
	if (record->flags & JOURNAL_SAVED)
		known &= ~(unsigned)UNDO_SHARED;
	if (record->type == JOURNAL_CHANGE)
		known |= record->flags & JOURNAL_DATA ? UNDO_DATA | UNDO_META
						      : UNDO_META;
	else if (record->type == JOURNAL_REMOVE && record->number)
		known |= UNDO_SHARED;
	else if (record->flags & JOURNAL_CREATED)
		known |= UNDO_CREATED;
	else
		return;
	if (record->number)
		undo->saved_bytes += record->file.size;
	undo_set_put(&undo->set, &key, known,
		     known & UNDO_SHARED ? record->number : 0);
}

/* Whether the last change was made; its process may have died before. */
static void resolve(struct server *server, const struct journal_record *last)
{
	const struct share *share = &server->shares[last->share];

	if (last->share >= server->share_count || share->gone)
		return;
	if (!place_happened(share->root_fd, last)) {
		server->undo.pending = 1;
		undo_cancel(server);
	}
}

static int go_on(struct server *server, struct buffer *bytes)
{
	struct undo *undo = &server->undo;
	/* A journal that was taken back and emptied has none. */
	struct journal_record record,
		last = { .type = JOURNAL_RESTART, .path = "", .text = "" };
	struct journal_reader reader;
	int found;

	if (journal_begin(&reader, bytes->data, bytes->len) < 0)
		return -1;
	while ((found = journal_next(&reader, &record)) > 0) {
		learn(undo, &record);
		last = record;
	}
	if (found < 0 || ftruncate(undo->journal, (off_t)reader.at) < 0)
		return -1;
	undo->journal_bytes = reader.at;
	resolve(server, &last);
	if (note(undo, JOURNAL_RESTART) < 0)
		return -1;
	return note_shares(server);
}

static int learn_number(void *ctx, int folder, const char *name)
{
	struct undo *undo = ctx;
	uint64_t number;

	if (text_to_u64(name, 1, UNDO_NUMBER_MAX, &number) == 0 &&
	    number > undo->saved)
		undo->saved = (uint32_t)number;
	return 0;
}

/* The segment of a predecessor that died; -1: begin another. */
static int open_last(struct server *server, unsigned number)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(JOURNAL_BYTES_MAX);
	struct undo *undo = &server->undo;
	struct error err = { 0 };
	struct stat st;
	char name[16];

	segment_name(number, name);
	undo->segment = openat(undo->folder, name, FOLDER_FLAGS);
	undo->files = openat(undo->segment, SEGMENT_FILES, FOLDER_FLAGS);
	if (undo->files < 0 ||
	    fstatat(undo->segment, SEGMENT_COMPLETE, &st, 0) < 0 ||
	    fileio_read(undo->segment, SEGMENT_JOURNAL, &bytes, &err) < 0)
		return -1;
	undo->journal = openat(undo->segment, SEGMENT_JOURNAL,
			       O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	/* One may have been saved whose record was not written any more. */
	if (undo->journal < 0 ||
	    segment_each_name(undo->files, learn_number, undo) < 0)
		return -1;
	return go_on(server, &bytes);
}

static int open_folder(struct server *server, struct error *err)
{
	struct undo *undo = &server->undo;
	struct statfs st;
	uint64_t part;

	if (mkdirat(server->state_fd, "undo", 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "undo");
	undo->folder = openat(server->state_fd, "undo", FOLDER_FLAGS);
	if (undo->folder < 0 || fstatfs(undo->folder, &st) < 0)
		return error_set(err, errno, "undo");
	part = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize / 100 *
	       SEGMENT_FREE_PERCENT;
	undo->limit_bytes = part < SEGMENT_BYTES_MAX ? part : SEGMENT_BYTES_MAX;
	undo->scratch = xmalloc(JOURNAL_RECORD_MAX);
	undo->xattrs = xmalloc(JOURNAL_XATTRS_MAX);
	undo->path = xmalloc(NODE_PATH_MAX);
	undo->path2 = xmalloc(NODE_PATH_MAX);
	return 0;
}

int undo_start(struct server *server, struct error *err)
{
	struct undo *undo = &server->undo;
	struct segments segments = { 0 };
	char label[JOURNAL_LABEL_MAX + 1];
	int result = 0;

	if (!undo->wanted || server->state_fd < 0)
		return 0;
	if (open_folder(server, err) < 0 ||
	    segments_load(undo->folder, &segments, err) < 0)
		return -1;
	if (segments.count)
		undo->number = segments.list[segments.count - 1].number;
	if (undo->fresh || !segments.count ||
	    open_last(server, undo->number) < 0) {
		close_segment(server);
		segment_label_now(SEGMENT_RUN, label, sizeof(label));
		result = make_segment(server, label, err);
	}
	segments_release(&segments);
	undo_prune_start(server);
	return result;
}

void undo_release(struct server *server)
{
	struct undo *undo = &server->undo;

	timer_stop(&undo->prune);
	if (undo->folder < 0)
		return;
	close_segment(server);
	close_fd(&undo->folder);
	free(undo->scratch);
	free(undo->xattrs);
	free(undo->path);
	free(undo->path2);
}
