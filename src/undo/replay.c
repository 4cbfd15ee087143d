/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - takes changes back, the last one first
 */
#include "undo/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "undo/segment.h"
#include "undo/place.h"

#define TOUCHED "touched"
#define RESTORED "restored"
#define TWINS "twins"
#define SLACK_NS 1500000000LL /* what a process writes before it notes so */
#define DONE "done"
#define TOUCHED_BYTES_MAX (64U << 20)
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static char *host_path(const struct scan *scan, uint8_t share, const char *path)
{
	const char *host = scan->hosts[share] ? scan->hosts[share] : "";

	return xasprintf("%s%s%s", host, *path ? "/" : "", path);
}

void replay_say(struct replay *replay, const struct scan *scan, uint8_t share,
		enum replay_did did, const char *path, const char *more)
{
	AUTO_FREE char *full = host_path(scan, share, path);
	AUTO_FREE char *other = NULL;

	if (did == REPLAY_MOVED)
		other = host_path(scan, share, more);
	replay->counts[did]++;
	replay->tell(replay->ctx, did, full, other ? other : more);
}

void scan_release(struct scan *scan)
{
	if (scan->folder >= 0)
		close(scan->folder);
	if (scan->files >= 0)
		close(scan->files);
	buffer_release(&scan->bytes);
	free(scan->steps);
	for (size_t i = 0; i < JOURNAL_SHARES_MAX; i++)
		free(scan->hosts[i]);
	inode_map_release(&scan->left);
}

static void add_step(struct scan *scan, size_t at)
{
	if ((scan->count & (scan->count - 1)) == 0)
		scan->steps = xrealloc(scan->steps,
				       (scan->count ? scan->count * 2 : 1) *
					       sizeof(*scan->steps));
	scan->steps[scan->count++] = at;
}

/* Names only: what was saved meanwhile stays. */
static bool is_name_change(enum journal_type type)
{
	return type >= JOURNAL_CREATE && type <= JOURNAL_EXCHANGE;
}

static int cancel(struct scan *scan, uint32_t number, struct error *err)
{
	size_t from = scan->count, to;
	struct journal_record record;

	while (number > 0 && from > 0) {
		if (journal_at(&scan->reader, scan->steps[--from], &record) >
			    0 &&
		    is_name_change(record.type))
			number--;
	}
	if (number > 0)
		return error_set(err, 0, "undo journal: damaged");
	to = from;
	for (; from < scan->count; from++) {
		if (journal_at(&scan->reader, scan->steps[from], &record) > 0 &&
		    !is_name_change(record.type))
			scan->steps[to++] = scan->steps[from];
	}
	scan->count = to;
	return 0;
}

static int read_record(struct replay *replay, struct scan *scan,
		       const struct journal_record *record, size_t at,
		       struct error *err)
{
	switch (record->type) {
	case JOURNAL_SHARE:
		free(scan->hosts[record->share]);
		scan->hosts[record->share] = xstrdup(record->path);
		scan->roots[record->share] =
			replay->root_of(replay->ctx, record->path);
		return 0;
	case JOURNAL_LEFT:
		inode_map_put(&scan->left, &record->file);
		return 0;
	case JOURNAL_RESTART:
		if (!scan->ended) {
			inode_map_release(&scan->left);
			scan->died_ns = record->file.mtime_ns + SLACK_NS;
		}
		return 0;
	case JOURNAL_CANCEL:
		return cancel(scan, record->number, err);
	default:
		add_step(scan, at);
		return 0;
	}
}

static int read_records(struct replay *replay, struct scan *scan,
			struct error *err)
{
	struct journal_record record, last = { 0 };
	size_t at;
	int found;

	if (journal_begin(&scan->reader, scan->bytes.data, scan->bytes.len) < 0)
		return error_set(err, 0,
				 "undo journal: not one of this version");
	for (at = scan->reader.at;
	     (found = journal_next(&scan->reader, &record)) > 0;
	     at = scan->reader.at) {
		if (read_record(replay, scan, &record, at, err) < 0)
			return -1;
		scan->ended = record.type == JOURNAL_END;
		last = record;
	}
	if (!scan->ended)
		scan->died_ns = scan->written_ns;
	if (found < 0)
		return error_set(err, 0, "undo journal: damaged at byte %zu",
				 at);
	/* The very last may tell of what never happened. */
	if (scan->count && is_name_change(last.type) &&
	    scan->roots[last.share] >= 0 &&
	    !place_happened(scan->roots[last.share], &last))
		scan->count--;
	return 0;
}

static int open_journal(struct scan *scan, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(scan->folder, SEGMENT_JOURNAL,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "undo journal");
	if (!S_ISREG(st.st_mode) || st.st_size > JOURNAL_BYTES_MAX)
		return error_set(err, 0, "undo journal: no journal");
	scan->written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
			   st.st_mtim.tv_nsec + SLACK_NS;
	if (fileio_read_fd(fd, &scan->bytes, err) < 0)
		return error_prefix(err, "undo journal");
	return 0;
}

int scan_load(struct replay *replay, unsigned number, struct scan *scan,
	      struct error *err)
{
	char name[16];
	struct stat st;

	*scan = (struct scan){ .folder = -1,
			       .files = -1,
			       .died_ns = INT64_MIN };
	scan->bytes = BUFFER_INIT(JOURNAL_BYTES_MAX + 1);
	for (size_t i = 0; i < JOURNAL_SHARES_MAX; i++)
		scan->roots[i] = -1;
	segment_name(number, name);
	scan->folder = openat(replay->undo_fd, name, FOLDER_FLAGS);
	if (scan->folder < 0)
		return error_set(err, errno, "undo segment %s", name);
	scan->files = openat(scan->folder, SEGMENT_FILES, FOLDER_FLAGS);
	/* Gone when an undo ended while it cleaned up: nothing is in it. */
	if (scan->files < 0 && errno != ENOENT)
		return error_set(err, errno, "undo segment %s", name);
	if (fstatat(scan->folder, SEGMENT_COMPLETE, &st, 0) < 0)
		replay->incomplete = true;

	if (open_journal(scan, err) < 0)
		return -1;
	return read_records(replay, scan, err);
}

bool scan_host_changed(const struct replay *replay, const struct scan *scan,
		       const struct journal_file *now)
{
	const struct journal_file *left = inode_map_get(&scan->left, now);

	if (inode_map_get(&replay->touched, now))
		return false;
	if (!left)
		left = inode_map_get(&replay->restored, now);
	if (left && left->size == now->size && left->mtime_ns == now->mtime_ns)
		return false;
	if (left && scan->ended)
		return true;
	return now->mtime_ns > scan->died_ns;
}

#define ROW 5 /* numbers for each inode in a file of them */
#define ROW_BYTES (ROW * sizeof(uint64_t))

static void to_row(const struct journal_file *file, uint64_t row[ROW])
{
	const uint64_t values[ROW] = { file->dev, file->ino, file->btime_ns,
				       file->size, (uint64_t)file->mtime_ns };

	memcpy(row, values, sizeof(values));
}

int step_touch(struct replay *replay, const struct journal_file *file)
{
	const struct journal_file *known =
		inode_map_get(&replay->touched, file);
	uint64_t row[ROW];

	if (known && known->size == file->size &&
	    known->mtime_ns == file->mtime_ns)
		return 0;
	to_row(file, row);
	if (write(replay->touched_fd, row, sizeof(row)) != sizeof(row))
		return -1;
	inode_map_put(&replay->touched, file);
	return 0;
}

int step_twin(struct replay *replay, const struct journal_file *was,
	      const struct journal_file *now)
{
	uint64_t rows[2 * ROW];

	if (!was->ino)
		return 0;
	to_row(was, rows);
	to_row(now, rows + ROW);
	return write(replay->twins_fd, rows, sizeof(rows)) == sizeof(rows) ? 0
									   : -1;
}

static void from_row(const uint8_t *bytes, struct journal_file *file)
{
	uint64_t row[ROW];

	memcpy(row, bytes, sizeof(row));
	*file = (struct journal_file){ .dev = row[0],
				       .ino = row[1],
				       .btime_ns = row[2],
				       .size = row[3],
				       .mtime_ns = (int64_t)row[4] };
}

static int load_rows(int fd, struct inode_map *map, struct error *err)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(TOUCHED_BYTES_MAX);
	struct journal_file file;

	if (fileio_read_fd(fd, &bytes, err) < 0)
		return -1;
	for (size_t at = 0; at + ROW_BYTES <= bytes.len; at += ROW_BYTES) {
		from_row(bytes.data + at, &file);
		inode_map_put(map, &file);
	}
	return 0;
}

/* In pairs; of one that was cut off nothing was made. */
static int load_twins(int fd, struct twins *twins, struct error *err)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(TOUCHED_BYTES_MAX);
	struct journal_file was, now;

	if (fileio_read_fd(fd, &bytes, err) < 0)
		return -1;
	for (size_t at = 0; at + 2 * ROW_BYTES <= bytes.len;
	     at += 2 * ROW_BYTES) {
		from_row(bytes.data + at, &was);
		from_row(bytes.data + at + ROW_BYTES, &now);
		twins_recall(twins, &was, &now);
	}
	return 0;
}

static int open_rows(const struct replay *replay, const char *name, int flags)
{
	return openat(replay->undo_fd, name,
		      flags | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0600);
}

int replay_begin(struct replay *replay, struct error *err)
{
	AUTO_CLOSE int touched = open_rows(replay, TOUCHED, O_RDONLY);
	AUTO_CLOSE int restored = open_rows(replay, RESTORED, O_RDONLY);
	AUTO_CLOSE int twins = open_rows(replay, TWINS, O_RDONLY);

	replay->resumed = touched >= 0;
	if (touched >= 0 && load_rows(touched, &replay->touched, err) < 0)
		return error_prefix(err, "undo/" TOUCHED);
	if (restored >= 0 && load_rows(restored, &replay->restored, err) < 0)
		return error_prefix(err, "undo/" RESTORED);
	if (twins >= 0 && load_twins(twins, &replay->twins, err) < 0)
		return error_prefix(err, "undo/" TWINS);
	return 0;
}

static int open_touched(struct replay *replay, struct error *err)
{
	if (replay->touched_fd >= 0)
		return 0;
	replay->touched_fd = open_rows(replay, TOUCHED, O_RDWR | O_CREAT);
	if (replay->touched_fd < 0)
		return error_set(err, errno, "undo/" TOUCHED);
	replay->twins_fd = open_rows(replay, TWINS, O_RDWR | O_CREAT);
	if (replay->twins_fd < 0)
		return error_set(err, errno, "undo/" TWINS);
	return 0;
}

void replay_finish(struct replay *replay, bool all)
{
	AUTO_CLOSE int fd = -1;

	if (all)
		unlinkat(replay->undo_fd, RESTORED, 0);
	else
		fd = open_rows(replay, RESTORED, O_WRONLY | O_CREAT);
	for (size_t i = 0; fd >= 0 && i < replay->touched.size; i++) {
		uint64_t row[ROW];

		to_row(&replay->touched.slots[i], row);
		if (row[1] && write(fd, row, sizeof(row)) != sizeof(row))
			break;
	}
	/* the one that says that there was an undo last */
	unlinkat(replay->undo_fd, TWINS, 0);
	unlinkat(replay->undo_fd, TOUCHED, 0);
}

void replay_release(struct replay *replay)
{
	inode_map_release(&replay->touched);
	inode_map_release(&replay->restored);
	twins_release(&replay->twins);
	plan_free(replay->plan);
	replay->plan = NULL;
	if (replay->touched_fd >= 0)
		close(replay->touched_fd);
	if (replay->twins_fd >= 0)
		close(replay->twins_fd);
	replay->touched_fd = replay->twins_fd = -1;
}

#define KEPT (1ULL << 63) /* in a row of the file DONE: it was left alone */

struct run {
	int done;     /* owned */
	size_t limit; /* steps from here on were gone through */
	size_t *kept; /* owned: those that were left alone, last one first */
	size_t count;
};

static int append(struct buffer *out, const struct journal_record *record)
{
	AUTO_FREE uint8_t *bytes = xmalloc(JOURNAL_RECORD_MAX);
	size_t len = journal_encode(record, bytes, JOURNAL_RECORD_MAX);

	return len ? buffer_append(out, bytes, len) : -1;
}

/* What is no step, but tells the host's changes from the guest's. */
static bool is_about_time(enum journal_type type)
{
	return type == JOURNAL_SHARE || type == JOURNAL_LEFT ||
	       type == JOURNAL_RESTART || type == JOURNAL_END;
}

/* Steps that were left alone (last one first), and all that is no step. */
static int encode_kept(const struct scan *scan, const size_t *kept,
		       size_t count, struct buffer *out)
{
	struct journal_reader reader = scan->reader;
	struct journal_record record, end = { .path = "", .text = "" };
	uint8_t head[JOURNAL_HEAD_BYTES];
	bool any = count > 0;
	int failed;

	journal_head(head);
	failed = buffer_append(out, head, sizeof(head));
	reader.at = sizeof(head);
	while (!failed && count && journal_next(&reader, &record) > 0) {
		if (is_about_time(record.type))
			failed = append(out, &record);
		if (record.type == JOURNAL_END)
			end = record;
	}
	while (!failed && count > 0) {
		if (journal_at(&reader, kept[--count], &record) > 0)
			failed = append(out, &record);
	}
	/* What ended well still did. */
	if (!failed && any && scan->ended)
		failed = append(out, &end);
	return failed;
}

/*
 * The journal again, as old as it was: until when the guest wrote is what tells
 * that the host did, also the next time.
 */
static int write_kept(const struct scan *scan, const size_t *kept, size_t count,
		      struct error *err)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(JOURNAL_BYTES_MAX);
	int64_t written_ns = scan->written_ns - SLACK_NS;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { written_ns / 1000000000,
					     written_ns % 1000000000 } };

	if (encode_kept(scan, kept, count, &out) != 0)
		return error_set(err, 0, "undo journal: too large");
	if (fileio_replace(scan->folder, SEGMENT_JOURNAL, out.data, out.len,
			   0600, 0, err) < 0)
		return -1;
	if (utimensat(scan->folder, SEGMENT_JOURNAL, times,
		      AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, errno, "undo journal");
	unlinkat(scan->folder, DONE, 0);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const size_t *one = a, *two = b;

	return *one < *two ? -1 : *one > *two;
}

/* Steps that were gone through before a crash: their places, and whether kept.
 */
static int load_done(struct run *run, const struct scan *scan,
		     struct error *err)
{
	AUTO_BUFFER struct buffer rows = BUFFER_INIT(JOURNAL_BYTES_MAX);
	uint64_t row;

	run->done = openat(scan->folder, DONE,
			   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC,
			   0600);
	if (run->done < 0)
		return error_set(err, errno, "undo/" DONE);
	if (fileio_read_fd(run->done, &rows, err) < 0)
		return error_prefix(err, "undo/" DONE);
	for (size_t at = 0; at + sizeof(row) <= rows.len; at += sizeof(row)) {
		size_t place;

		memcpy(&row, rows.data + at, sizeof(row));
		place = (size_t)(row & ~KEPT);
		run->limit = place < run->limit ? place : run->limit;
		if ((row & KEPT) && run->count < scan->count && scan->count &&
		    bsearch(&place, scan->steps, scan->count, sizeof(place),
			    by_offset))
			run->kept[run->count++] = place;
	}
	return 0;
}

static int run_steps(struct replay *replay, const struct scan *scan,
		     struct run *run, struct error *err)
{
	for (size_t i = scan->count; i-- > 0;) {
		struct journal_record record;
		uint64_t row = scan->steps[i];

		if (scan->steps[i] >= run->limit || run->count == scan->count ||
		    journal_at(&scan->reader, scan->steps[i], &record) <= 0)
			continue;
		if (step_undo(replay, scan, &record) == STEP_KEPT) {
			run->kept[run->count++] = scan->steps[i];
			row |= KEPT;
		}
		if (write(run->done, &row, sizeof(row)) != sizeof(row))
			return error_set(err, errno, "undo/" DONE);
	}
	return 0;
}

int replay_run(struct replay *replay, unsigned number, struct error *err)
{
	struct run run = { .done = -1, .limit = SIZE_MAX };
	struct scan scan;
	int result;

	twins_begin(&replay->twins);
	result = scan_load(replay, number, &scan, err);
	run.kept = xcalloc(scan.count + 1, sizeof(*run.kept));
	if (result == 0)
		result = open_touched(replay, err);
	if (result == 0)
		result = load_done(&run, &scan, err);
	if (result == 0)
		result = run_steps(replay, &scan, &run, err);
	if (result == 0)
		result = write_kept(&scan, run.kept, run.count, err);
	scan_release(&scan);
	free(run.kept);
	if (run.done >= 0)
		close(run.done);
	return result < 0 ? -1 : run.count == 0;
}
