/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_step.c - one change, taken back
 *
 * Everything is done in a folder that was reached without following a link,
 * on names that are one component.
 */
#include "undo/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "undo/folder_time.h"
#include "undo/place.h"
#include "undo/replay_file.h"

struct job {
	struct replay *replay;
	const struct scan *scan;
	const struct journal_record *record;
	int root; /* of the record's share */
};

static enum step conflict(const struct job *job, const char *path,
			  const char *why)
{
	replay_say(job->replay, job->scan, job->record->share, REPLAY_CONFLICT,
		   path, why);
	return STEP_KEPT;
}

static enum step failed(const struct job *job, const char *path, int code)
{
	replay_say(job->replay, job->scan, job->record->share, REPLAY_FAILED,
		   path, strerror(code));
	return STEP_KEPT;
}

bool step_is_ours(const struct replay *replay, const struct journal_file *now,
		  const struct journal_file *expected)
{
	return place_same_inode(now, expected) ||
	       inode_map_get(&replay->touched, now) ||
	       inode_map_get(&replay->restored, now);
}

static bool same_type(uint32_t a, uint32_t b)
{
	return (a & S_IFMT) == (b & S_IFMT);
}

static enum step remove_at(const struct job *job, const char *path, int flags)
{
	AUTO_CLOSE int folder = -1;
	const char *name;

	folder = file_parent(job->root, path, &name);
	if (folder < 0 || file_remove(folder, name, flags) < 0) {
		if (errno == ENOENT)
			return STEP_DONE;
		if (errno == ENOTEMPTY || errno == EEXIST)
			return conflict(job, path,
					"holds files that the guest did not "
					"make");
		return failed(job, path, errno);
	}
	replay_say(job->replay, job->scan, job->record->share, REPLAY_REMOVED,
		   path, "");
	return STEP_DONE;
}

/* Why what was made since must stay; NULL: it may go. */
static const char *why_stay(const struct job *job,
			    const struct journal_file *now)
{
	int root = job->root;

	if (!same_type(now->mode, job->record->file.mode))
		return "is something else now";
	if (job->record->flags & JOURNAL_HARD_LINK)
		return step_is_ours(job->replay, now, &job->record->file)
			       ? NULL
			       : "was replaced on the host";
	if (S_ISLNK(now->mode) &&
	    !file_link_is(root, job->record->path, job->record->text))
		return "was changed on the host";
	if (S_ISREG(now->mode) &&
	    scan_host_changed(job->replay, job->scan, now))
		return "was changed on the host";
	return NULL;
}

static enum step undo_create(const struct job *job)
{
	int root = job->root;
	struct journal_file now;
	const char *why;

	if (file_stat(root, job->record->path, &now) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? STEP_DONE
			       : failed(job, job->record->path, errno);
	why = why_stay(job, &now);
	if (why && (!job->replay->force || S_ISDIR(now.mode)))
		return conflict(job, job->record->path, why);
	return remove_at(job, job->record->path,
			 S_ISDIR(now.mode) ? AT_REMOVEDIR : 0);
}

/*
 * Something lies where another thing goes. 1: it may (and does) go; 0: it
 * stays, which was told.
 */
static int make_way(const struct job *job, const char *path,
		    const struct journal_file *now)
{
	AUTO_CLOSE int folder = -1;
	const char *name;

	if (!job->replay->force || S_ISDIR(now->mode)) {
		conflict(job, path, "something new has this name");
		return 0;
	}
	folder = file_parent(job->root, path, &name);
	if (folder >= 0 && file_remove(folder, name, 0) == 0)
		return 1;
	failed(job, path, errno);
	return 0;
}

/* Made by an undo that ended before it could say so. */
static bool is_half_made(const struct job *job, const struct journal_file *now)
{
	if (!job->replay->resumed ||
	    !same_type(now->mode, job->record->file.mode))
		return false;
	return S_ISDIR(now->mode) ||
	       (S_ISLNK(now->mode) &&
		file_link_is(job->root, job->record->path, job->record->text));
}

static enum step finish_made(const struct job *job)
{
	AUTO_CLOSE int folder = -1;
	const char *name;

	if (S_ISLNK(job->record->file.mode)) {
		folder = file_parent(job->root, job->record->path, &name);
		if (folder < 0 || file_know_link(job->replay, job->scan,
						 job->record, folder, name) < 0)
			return failed(job, job->record->path, errno);
		return STEP_DONE;
	}
	if (file_put_attributes(job->replay, job->scan, job->record, true) < 0)
		return failed(job, job->record->path, errno);
	return STEP_DONE;
}

static enum step undo_remove(const struct job *job)
{
	int root = job->root;
	AUTO_CLOSE int folder = -1;
	struct journal_file now;
	const char *name;

	/* A socket is of no use without who listened on it. */
	if (S_ISSOCK(job->record->file.mode))
		return STEP_DONE;
	if (file_stat(root, job->record->path, &now) == 0) {
		if (step_is_ours(job->replay, &now, &job->record->file))
			return STEP_DONE;
		if (is_half_made(job, &now))
			return finish_made(job);
		if (S_ISDIR(now.mode) && S_ISDIR(job->record->file.mode))
			return STEP_DONE;
		if (!make_way(job, job->record->path, &now))
			return STEP_KEPT;
	}
	folder = file_parent(job->root, job->record->path, &name);
	if (folder < 0 || file_bring_back(job->replay, job->scan, job->record,
					  folder, name) < 0)
		return failed(job, job->record->path, errno);
	if (!(job->record->flags & JOURNAL_CREATED))
		replay_say(job->replay, job->scan, job->record->share,
			   REPLAY_RESTORED, job->record->path, "");
	return STEP_DONE;
}

static enum step move(const struct job *job, const char *from, const char *to,
		      unsigned flags)
{
	AUTO_CLOSE int from_fd = -1, to_fd = -1;
	const char *from_name, *to_name;

	from_fd = file_parent(job->root, from, &from_name);
	to_fd = file_parent(job->root, to, &to_name);
	if (from_fd < 0 || to_fd < 0 ||
	    file_move(from_fd, from_name, to_fd, to_name, flags) < 0)
		return failed(job, from, errno);
	replay_say(job->replay, job->scan, job->record->share, REPLAY_MOVED, to,
		   from);
	return STEP_DONE;
}

static enum step undo_rename(const struct job *job)
{
	int root = job->root;
	struct journal_file from, to;
	bool was = file_stat(root, job->record->path, &to) == 0;

	if (was && place_same_inode(&to, &job->record->file))
		return STEP_DONE;
	if (file_stat(root, job->record->text, &from) < 0) {
		/* Made since and gone again, or moved back already. */
		if (was || (job->record->flags & JOURNAL_CREATED))
			return STEP_DONE;
		return conflict(job, job->record->text,
				"is gone: it cannot be moved back");
	}
	if (!step_is_ours(job->replay, &from, &job->record->file) &&
	    !job->replay->force)
		return conflict(job, job->record->text,
				"was replaced on the host");
	if (was && !make_way(job, job->record->path, &to))
		return STEP_KEPT;
	return move(job, job->record->text, job->record->path,
		    RENAME_NOREPLACE);
}

static enum step undo_exchange(const struct job *job)
{
	int root = job->root;
	struct journal_file a, b;
	bool has_a = file_stat(root, job->record->path, &a) == 0;
	bool has_b = file_stat(root, job->record->text, &b) == 0;

	if (has_a && place_same_inode(&a, &job->record->file))
		return STEP_DONE;
	if (has_a && has_b)
		return move(job, job->record->text, job->record->path,
			    RENAME_EXCHANGE);
	if (has_a)
		return move(job, job->record->path, job->record->text,
			    RENAME_NOREPLACE);
	if (has_b)
		return move(job, job->record->text, job->record->path,
			    RENAME_NOREPLACE);
	return STEP_DONE;
}

static bool has_times_of(const struct journal_file *now,
			 const struct journal_file *file)
{
	return now->size == file->size && now->mtime_ns == file->mtime_ns;
}

static enum step put_back(const struct job *job, const struct journal_file *now)
{
	bool data = (job->record->flags & JOURNAL_DATA) &&
		    S_ISREG(job->record->file.mode);
	bool times = data || !S_ISREG(now->mode) ||
		     !scan_host_changed(job->replay, job->scan, now) ||
		     has_times_of(now, &job->record->file);
	int done;

	if (data && !job->replay->force &&
	    scan_host_changed(job->replay, job->scan, now))
		return conflict(job, job->record->path,
				"was changed on the host");
	done = data ? file_put_content(job->replay, job->scan, job->record)
		    : file_put_attributes(job->replay, job->scan, job->record,
					  times);
	if (done < 0)
		return failed(job, job->record->path, errno);
	if (data)
		replay_say(job->replay, job->scan, job->record->share,
			   REPLAY_RESTORED, job->record->path, "");
	else if (!S_ISDIR(now->mode) || now->mode != job->record->file.mode)
		replay_say(job->replay, job->scan, job->record->share,
			   REPLAY_ATTRIBUTES, job->record->path, "");
	return STEP_DONE;
}

/* A name of it is undone later: all its names must get the content back. */
static enum step undo_saved_change(const struct job *job, int fd,
				   const struct journal_file *now)
{
	const struct journal_record *record = job->record;

	/* It may have been saved for a change of its mode alone. */
	if (*record->path && !job->replay->force &&
	    !has_times_of(now, &record->file) &&
	    scan_host_changed(job->replay, job->scan, now))
		return conflict(job, record->path, "was changed on the host");
	if (file_put_in_place(job->replay, job->scan, record, fd) < 0)
		return failed(job, record->path, errno);
	if (*record->path)
		replay_say(job->replay, job->scan, record->share,
			   REPLAY_RESTORED, record->path, "");
	return STEP_DONE;
}

static enum step undo_change(const struct job *job)
{
	AUTO_CLOSE int saved = -1;
	struct journal_file now;
	bool data = job->record->flags & JOURNAL_DATA;

	if (job->record->flags & JOURNAL_SAVED) {
		saved = file_saved_inode(job->scan, job->record, &now);
		if (saved >= 0)
			return undo_saved_change(job, saved, &now);
		if (!*job->record->path)
			return STEP_DONE;
	}
	if (file_stat(job->root, job->record->path, &now) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return failed(job, job->record->path, errno);
		if (!data)
			return STEP_DONE;
		if (!job->replay->force)
			return conflict(job, job->record->path,
					"was removed on the host");
		if (file_put_content(job->replay, job->scan, job->record) < 0)
			return failed(job, job->record->path, errno);
		replay_say(job->replay, job->scan, job->record->share,
			   REPLAY_RESTORED, job->record->path, "");
		return STEP_DONE;
	}
	if (!same_type(now.mode, job->record->file.mode))
		return conflict(job, job->record->path,
				"is something else now");
	if (!step_is_ours(job->replay, &now, &job->record->file)) {
		/* Attributes of another file are not ours to set. */
		if (!data)
			return STEP_DONE;
		if (!job->replay->force)
			return conflict(job, job->record->path,
					"was replaced on the host");
	}
	return put_back(job, &now);
}

/* The first step of those that follow a crash is the one that it cut off. */
static void settle_folder(const struct job *job)
{
	AUTO_CLOSE int folder = -1;
	const char *name;

	folder = file_parent(job->root, job->record->path, &name);
	folder_time_settle(job->replay->undo_fd, folder);
}

enum step step_undo(struct replay *replay, const struct scan *scan,
		    const struct journal_record *record)
{
	static enum step (*const undo[])(const struct job *job) = {
		[JOURNAL_CREATE] = undo_create,
		[JOURNAL_REMOVE] = undo_remove,
		[JOURNAL_RENAME] = undo_rename,
		[JOURNAL_EXCHANGE] = undo_exchange,
		[JOURNAL_CHANGE] = undo_change,
	};
	const struct job job = { .replay = replay,
				 .scan = scan,
				 .record = record,
				 .root = scan->roots[record->share] };

	if (record->type == JOURNAL_LOST) {
		replay_say(replay, scan, record->share, REPLAY_LOST,
			   record->path, record->text);
		return STEP_DONE;
	}
	if (job.root < 0)
		return conflict(&job, record->path,
				"lies in a folder that is not shared any more");
	if (record->type >= ARRAY_SIZE(undo) || !undo[record->type])
		return STEP_DONE;
	if (replay->resumed && *record->path)
		settle_folder(&job);
	return undo[record->type](&job);
}
