/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file.c - files of a workspace, put back
 */
#include "undo/replay_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "undo/folder_time.h"
#include "undo/place.h"
#include "undo/replay_internal.h"

#define TEMPORARY ".bawn-undo-tmp"
#define NS 1000000000LL
#define NAMES_BYTES 65536
#define LINK_BYTES 4096

static void proc_path(int fd, char path[32])
{
	text_format(path, 32, "/proc/self/fd/%d", fd);
}

/* The guest may have shut a folder after it worked in it. */
static int open_up(int folder)
{
	char path[32];
	struct stat st;

	if (fstat(folder, &st) < 0 || (st.st_mode & 0700) == 0700)
		return -1;
	proc_path(folder, path);
	return chmod(path, (st.st_mode & 07777) | 0700);
}

/* Each folder on the way, one by one. */
static int open_way(int root, const char *path)
{
	char part[JOURNAL_PATH_MAX + 2];
	int opened = -1;

	if (open_up(root) == 0)
		opened = 0;
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		AUTO_CLOSE int folder = -1;
		const char *name;

		text_format(part, sizeof(part), "%.*s/.", (int)(slash - path),
			    path);
		folder = place_parent(root, part, &name);
		if (folder < 0)
			return -1;
		if (open_up(folder) == 0)
			opened = 0;
	}
	return opened;
}

int file_parent(int root, const char *path, const char **name)
{
	int folder = place_parent(root, path, name);

	if (folder < 0 && errno == EACCES && open_way(root, path) == 0)
		folder = place_parent(root, path, name);
	return folder;
}

int file_stat(int root, const char *path, struct journal_file *file)
{
	int found = place_stat(root, path, file);

	if (found < 0 && errno == EACCES && open_way(root, path) == 0)
		found = place_stat(root, path, file);
	return found;
}

int file_remove(int folder, const char *name, int flags)
{
	int done = unlinkat(folder, name, flags);

	if (done < 0 && errno == EACCES && open_up(folder) == 0)
		done = unlinkat(folder, name, flags);
	return done;
}

int file_move(int from, const char *from_name, int to, const char *to_name,
	      unsigned flags)
{
	int done = renameat2(from, from_name, to, to_name, flags);

	if (done < 0 && errno == EACCES &&
	    (open_up(from) == 0) + (open_up(to) == 0) > 0)
		done = renameat2(from, from_name, to, to_name, flags);
	return done;
}

bool file_link_is(int root, const char *path, const char *target)
{
	char now[LINK_BYTES];
	AUTO_CLOSE int folder = -1;
	const char *name;
	ssize_t len;

	folder = place_parent(root, path, &name);
	if (folder < 0)
		return false;
	len = readlinkat(folder, name, now, sizeof(now));
	return len == (ssize_t)strlen(target) &&
	       memcmp(now, target, (size_t)len) == 0;
}

static struct timespec to_time(int64_t ns)
{
	int64_t rest = ns % NS;

	if (rest < 0)
		rest += NS;
	return (struct timespec){ .tv_sec = (ns - rest) / NS, .tv_nsec = rest };
}

int file_set_times(int fd, const struct journal_file *file)
{
	struct timespec times[2] = { to_time(file->atime_ns),
				     to_time(file->mtime_ns) };

	return utimensat(fd, "", times, AT_EMPTY_PATH);
}

static bool is_wanted(const struct journal_record *record, const char *name)
{
	struct journal_xattr one;
	size_t at = 0;

	while (journal_xattr_next(record, &at, &one)) {
		if (strcmp(one.name, name) == 0)
			return true;
	}
	return false;
}

/* Exactly those of the record, of user.*; a file system may know none. */
static int set_xattrs(const char *path, const struct journal_record *record)
{
	static char names[NAMES_BYTES];
	ssize_t len = listxattr(path, names, sizeof(names));
	struct journal_xattr one;
	size_t at = 0;

	for (ssize_t i = 0; i < len; i += (ssize_t)strlen(names + i) + 1) {
		if (text_starts(names + i, "user.") &&
		    !is_wanted(record, names + i))
			removexattr(path, names + i);
	}
	while (journal_xattr_next(record, &at, &one)) {
		if (setxattr(path, one.name, one.value, one.len, 0) < 0 &&
		    errno != EOPNOTSUPP)
			return -1;
	}
	return 0;
}

/* fd is of any kind. */
static int set_mode(int fd, uint32_t mode)
{
	char path[32];
	struct stat st;
	mode_t wanted = mode & (S_ISDIR(mode) ? 01777 : 0777);

	if (fstat(fd, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		wanted |= st.st_mode & S_ISGID;
	if ((st.st_mode & 07777) == wanted)
		return 0;
	proc_path(fd, path);
	return chmod(path, wanted);
}

int file_know(int fd, struct journal_file *file)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) <
	    0)
		return -1;
	place_file(&st, file);
	return 0;
}

/* This inode is ours; as it will be, or (NULL) as it is. */
static int touch_as(struct replay *replay, int fd,
		    const struct journal_file *wanted)
{
	struct journal_file file;

	if (file_know(fd, &file) < 0)
		return -1;
	if (wanted) {
		file.size = wanted->size;
		file.mtime_ns = wanted->mtime_ns;
	}
	return step_touch(replay, &file);
}

/* This inode takes the place of the record's, for all names of that. */
static int note_twin(struct replay *replay, const struct journal_record *record,
		     int fd)
{
	struct journal_file now;

	return file_know(fd, &now) < 0 ? -1
				       : step_twin(replay, &record->file, &now);
}

/* From now on it has that name. */
static void put_twin(struct replay *replay, const struct scan *scan,
		     const struct journal_record *record)
{
	int root = scan->roots[record->share];
	struct journal_file now;

	if (file_stat(root, record->path, &now) == 0)
		twins_put(&replay->twins, &record->file, root, record->path,
			  &now);
}

/* A saved file, when it is what the record says. */
static int open_saved(const struct scan *scan,
		      const struct journal_record *record)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	char name[16], path[32];

	text_format(name, sizeof(name), "%u", record->number);
	fd = openat(scan->files, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != record->file.size) {
		errno = EBADMSG;
		return -1;
	}
	/* Kept with the mode that it had, it may forbid to be read. */
	proc_path(fd, path);
	if (!(st.st_mode & 0400))
		chmod(path, st.st_mode | 0400);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static int copy_saved(const struct scan *scan,
		      const struct journal_record *record, int to)
{
	AUTO_CLOSE int from = -1;
	struct error err = { 0 };

	if (!record->number && record->file.size) {
		errno = EBADMSG;
		return -1;
	}
	if (!record->number)
		return ftruncate(to, 0);
	from = open_saved(scan, record);
	if (from < 0)
		return -1;
	if (fileio_copy_sparse(from, to, &err) < 0) {
		errno = err.code ? err.code : EIO;
		return -1;
	}
	return 0;
}

/* One at a time; what a crash left is replaced. */
static int open_temporary(int folder)
{
	int fd;

	unlinkat(folder, TEMPORARY, 0);
	fd = openat(folder, TEMPORARY,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EACCES && open_up(folder) == 0)
		return open_temporary(folder);
	return fd;
}

/* Made in `at`, complete with its attributes, before it gets its name. */
static int make_copy_at(struct replay *replay, const struct scan *scan,
			const struct journal_record *record, int at, int folder,
			const char *name, unsigned flags)
{
	AUTO_CLOSE int fd = open_temporary(at);
	char path[32];
	int code;

	if (fd < 0)
		return -1;
	proc_path(fd, path);
	if (copy_saved(scan, record, fd) == 0 &&
	    set_xattrs(path, record) == 0 &&
	    set_mode(fd, record->file.mode) == 0 &&
	    file_set_times(fd, &record->file) == 0 &&
	    touch_as(replay, fd, NULL) == 0 &&
	    note_twin(replay, record, fd) == 0 &&
	    file_move(at, TEMPORARY, folder, name, flags) == 0)
		return 0;
	code = errno;
	unlinkat(at, TEMPORARY, 0);
	errno = code;
	return -1;
}

/* Out of the workspace where that is one file system: nothing is left there. */
static int make_copy(struct replay *replay, const struct scan *scan,
		     const struct journal_record *record, int folder,
		     const char *name, unsigned flags)
{
	struct stat here, there;

	if (fstat(scan->files, &here) == 0 && fstat(folder, &there) == 0 &&
	    here.st_dev == there.st_dev) {
		if (make_copy_at(replay, scan, record, scan->files, folder,
				 name, flags) == 0)
			return 0;
		if (errno != EXDEV)
			return -1;
	}
	if (make_copy_at(replay, scan, record, folder, folder, name, flags) < 0)
		return -1;
	put_twin(replay, scan, record);
	return 0;
}

/* The saved inode itself, where that is one file system. */
static int move_saved(struct replay *replay, const struct scan *scan,
		      const struct journal_record *record, int folder,
		      const char *name)
{
	AUTO_CLOSE int fd = open_saved(scan, record);
	char number[16];

	text_format(number, sizeof(number), "%u", record->number);
	if (fd < 0 || touch_as(replay, fd, &record->file) < 0)
		return -1;
	/*
	 * First, since once it is there nobody looks at it again after a crash.
	 * What it may lack of these is no reason not to bring it.
	 */
	set_mode(fd, record->file.mode);
	file_set_times(fd, &record->file);
	return file_move(scan->files, number, folder, name, RENAME_NOREPLACE);
}

static int bring_folder(struct replay *replay,
			const struct journal_record *record, int folder,
			const char *name)
{
	AUTO_CLOSE int fd = -1;
	char path[32];

	if (mkdirat(folder, name, 0700) < 0 &&
	    (errno != EACCES || open_up(folder) < 0 ||
	     mkdirat(folder, name, 0700) < 0))
		return -1;
	fd = openat(folder, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || touch_as(replay, fd, NULL) < 0)
		return -1;
	proc_path(fd, path);
	set_xattrs(path, record);
	file_set_times(fd, &record->file);
	/* Its files come next; who may not write it now will be told later. */
	return set_mode(fd, record->file.mode);
}

int file_know_link(struct replay *replay, const struct scan *scan,
		   const struct journal_record *record, int folder,
		   const char *name)
{
	AUTO_CLOSE int fd =
		openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || note_twin(replay, record, fd) < 0)
		return -1;
	put_twin(replay, scan, record);
	file_set_times(fd, &record->file);
	return touch_as(replay, fd, NULL);
}

static int bring_link(struct replay *replay, const struct scan *scan,
		      const struct journal_record *record, int folder,
		      const char *name)
{
	if (twins_link(&replay->twins, scan, record, folder, name) == 0)
		return 0;
	if (symlinkat(record->text, folder, name) < 0 &&
	    (errno != EACCES || open_up(folder) < 0 ||
	     symlinkat(record->text, folder, name) < 0))
		return -1;
	return file_know_link(replay, scan, record, folder, name);
}

int file_bring_back(struct replay *replay, const struct scan *scan,
		    const struct journal_record *record, int folder,
		    const char *name)
{
	if (S_ISDIR(record->file.mode))
		return bring_folder(replay, record, folder, name);
	if (S_ISLNK(record->file.mode))
		return bring_link(replay, scan, record, folder, name);
	if (record->number &&
	    move_saved(replay, scan, record, folder, name) == 0)
		return 0;
	if (record->number && errno != EXDEV)
		return -1;
	if (twins_link(&replay->twins, scan, record, folder, name) == 0)
		return 0;
	return make_copy(replay, scan, record, folder, name, RENAME_NOREPLACE);
}

static int open_named(const struct scan *scan,
		      const struct journal_record *record)
{
	int root = scan->roots[record->share];
	AUTO_CLOSE int folder = -1;
	char path[32];
	const char *name;

	if (!*record->path) {
		proc_path(root, path);
		return open(path, O_PATH | O_CLOEXEC);
	}
	folder = file_parent(root, record->path, &name);
	if (folder < 0)
		return -1;
	return openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static int put_attributes(struct replay *replay, int fd,
			  const struct journal_record *record, bool times)
{
	char path[32];

	if (!S_ISLNK(record->file.mode)) {
		proc_path(fd, path);
		if (set_xattrs(path, record) < 0 ||
		    set_mode(fd, record->file.mode) < 0)
			return -1;
	}
	if (!times || file_set_times(fd, &record->file) < 0)
		return times ? -1 : 0;
	/* It was the guest's until now: nobody else changed its times. */
	return touch_as(replay, fd, NULL);
}

int file_put_attributes(struct replay *replay, const struct scan *scan,
			const struct journal_record *record, bool times)
{
	AUTO_CLOSE int fd = open_named(scan, record);

	return fd < 0 ? -1 : put_attributes(replay, fd, record, times);
}

int file_saved_inode(const struct scan *scan,
		     const struct journal_record *record,
		     struct journal_file *now)
{
	AUTO_CLOSE int fd = -1;
	uint64_t number;

	/* A number, so that it is a name in this folder. */
	if (text_to_u64(record->text, 1, UINT32_MAX, &number) < 0)
		return -1;
	fd = openat(scan->files, record->text, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || file_know(fd, now) < 0 || !S_ISREG(now->mode) ||
	    !place_same_inode(now, &record->file))
		return -1;
	return TAKE_FD(fd);
}

int file_put_in_place(struct replay *replay, const struct scan *scan,
		      const struct journal_record *record, int fd)
{
	AUTO_CLOSE int to = -1;
	char path[32];

	set_mode(fd, record->file.mode | 0200);
	proc_path(fd, path);
	to = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (to < 0 || touch_as(replay, fd, &record->file) < 0 ||
	    copy_saved(scan, record, to) < 0)
		return -1;
	return put_attributes(replay, fd, record, true);
}

int file_put_content(struct replay *replay, const struct scan *scan,
		     const struct journal_record *record)
{
	AUTO_CLOSE int fd = open_named(scan, record), folder = -1;
	struct journal_file was;
	const char *name;
	struct stat st;
	int done;

	if (fd < 0 && errno != ENOENT)
		return -1;
	if (fd >= 0 && fstat(fd, &st) < 0)
		return -1;
	if (fd >= 0 && (st.st_nlink > 1 || !*record->path))
		return file_put_in_place(replay, scan, record, fd);
	folder = file_parent(scan->roots[record->share], record->path, &name);
	if (folder < 0)
		return -1;
	if (fd < 0)
		return make_copy(replay, scan, record, folder, name, 0);
	/* Its names are the same as before; so is when they last changed. */
	if (folder_time_hold(replay->undo_fd, folder, &was) < 0)
		return -1;
	done = make_copy(replay, scan, record, folder, name, 0);
	folder_time_put_back(replay->undo_fd, folder, &was);
	return done;
}
