/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow.c - the guest's own versions of held files, beside a share
 */
#include "files/shadow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "files/share.h"

#define FOLDER_MODE 0700
#define TEMPORARY "shadow/new"
#define LIST_BYTES 8192
#define COPY_BYTES 65536

/* "shadow/" and 16 digits, then what is asked for. */
static int full_path(const struct shadow *shadow, const char *path,
		     char full[PATH_MAX])
{
	return text_format(full, PATH_MAX, "%s%s%s", shadow->root,
			   *path ? "/" : "", path) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

static int open_beneath(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_in(const struct shadow *shadow, const char *path,
		   uint64_t flags)
{
	char full[PATH_MAX];
	int failed = full_path(shadow, path, full);

	return failed ? failed : open_beneath(shadow->state_fd, full, flags);
}

void shadow_init(struct shadow *shadow, int state_fd, const char *host_path)
{
	struct stat st;

	*shadow = (struct shadow){ .state_fd = state_fd };
	text_format(shadow->root, sizeof(shadow->root), "shadow/%016llx",
		    (unsigned long long)text_hash(host_path));
	shadow->used = fstatat(state_fd, shadow->root, &st, 0) == 0;
}

int shadow_open(const struct shadow *shadow, const char *path)
{
	return open_in(shadow, path, O_PATH);
}

int shadow_find(const struct shadow *shadow, const char *path, struct statx *st)
{
	AUTO_CLOSE int fd = -1;

	if (!shadow->used)
		return 0;
	fd = shadow_open(shadow, path);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, st) < 0)
		return -errno;
	if (S_ISSOCK(st->stx_mode))
		return -ENOENT;
	if (S_ISDIR(st->stx_mode))
		return 0;
	st->stx_mask |= SHARE_SHADOW;
	return 1;
}

bool shadow_has_folder(const struct shadow *shadow, const char *path)
{
	AUTO_CLOSE int fd = -1;

	if (shadow->used)
		fd = open_in(shadow, path, O_PATH | O_DIRECTORY);
	return fd >= 0;
}

/* full is that of a folder; each step is made where it is missing. */
static int make_folders(int state_fd, char *full)
{
	for (char *slash = full; slash; *slash = '/') {
		AUTO_CLOSE int made = -1;

		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdirat(state_fd, full, FOLDER_MODE) < 0 && errno != EEXIST)
			return -errno;
		/* Not through what is no folder, be it one by a link. */
		made = open_beneath(state_fd, full, O_PATH | O_DIRECTORY);
		if (made < 0)
			return made;
		if (!slash)
			break;
	}
	return 0;
}

int shadow_folder(struct shadow *shadow, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char full[PATH_MAX];
	int fd, failed = full_path(shadow, path, full);

	if (failed)
		return failed;
	*name = slash ? slash + 1 : path;
	full[strlen(full) - strlen(*name) - 1] = '\0';
	fd = open_beneath(shadow->state_fd, full, O_PATH | O_DIRECTORY);
	if (fd != -ENOENT)
		return fd == -ENOTDIR || fd == -ELOOP ? -ESTALE : fd;
	failed = make_folders(shadow->state_fd, full);
	if (failed)
		return failed == -ENOTDIR || failed == -ELOOP ? -ESTALE
							      : failed;
	shadow->used = true;
	return open_beneath(shadow->state_fd, full, O_PATH | O_DIRECTORY);
}

static int copy_data(int from, int to)
{
	static char bytes[COPY_BYTES];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		struct error err;

		at += n;
		if (at > (off_t)SHADOW_COPY_MAX)
			return -EFBIG;
		if (fileio_write_all(to, bytes, (size_t)n, &err) < 0)
			return -err.code;
	}
	return n < 0 ? -errno : 0;
}

static int copy_file(int dir, const char *name,
		     const struct shadow_source *source)
{
	const struct statx *st = source->st;
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ st->stx_mtime.tv_sec, st->stx_mtime.tv_nsec },
	};
	AUTO_CLOSE int fd = openat(
		dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		st->stx_mode & 0777);
	int failed;

	if (fd < 0)
		return -errno;
	failed = copy_data(source->fd, fd);
	if (!failed && futimens(fd, times) < 0)
		failed = -errno;
	return failed;
}

static int copy_link(int dir, const char *name, int from)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from, "", target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return symlinkat(target, dir, name) < 0 ? -errno : 0;
}

int shadow_copy_to(int dir, const char *name,
		   const struct shadow_source *source)
{
	if (S_ISREG(source->st->stx_mode))
		return copy_file(dir, name, source);
	return S_ISLNK(source->st->stx_mode) ? copy_link(dir, name, source->fd)
					     : -EPERM;
}

/* The temporary file takes its place, at once. */
static int settle(struct shadow *shadow, int made, const char *path)
{
	AUTO_CLOSE int folder = -1;
	const char *name;

	if (!made) {
		folder = shadow_folder(shadow, path, &name);
		made = folder < 0 ? folder : 0;
	}
	if (!made && renameat(shadow->state_fd, TEMPORARY, folder, name) < 0)
		made = -errno;
	if (made)
		unlinkat(shadow->state_fd, TEMPORARY, 0);
	return made;
}

static int begin_temporary(struct shadow *shadow)
{
	if (mkdirat(shadow->state_fd, "shadow", FOLDER_MODE) < 0 &&
	    errno != EEXIST)
		return -errno;
	if (unlinkat(shadow->state_fd, TEMPORARY, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int shadow_copy(struct shadow *shadow, const char *path,
		const struct shadow_source *source)
{
	int made = begin_temporary(shadow);

	if (!made)
		made = shadow_copy_to(shadow->state_fd, TEMPORARY, source);
	return settle(shadow, made, path);
}

int shadow_white_out(struct shadow *shadow, const char *path)
{
	int made = begin_temporary(shadow);

	if (!made &&
	    mknodat(shadow->state_fd, TEMPORARY, S_IFSOCK | 0600, 0) < 0)
		made = -errno;
	return settle(shadow, made, path);
}

void shadow_forget(struct shadow *shadow, const char *path)
{
	AUTO_CLOSE int folder = -1;
	const char *name = strrchr(path, '/');
	char full[PATH_MAX];

	name = name ? name + 1 : path;
	if (!shadow->used || full_path(shadow, path, full) < 0)
		return;
	full[strlen(full) - strlen(name) - 1] = '\0';
	folder = open_beneath(shadow->state_fd, full, O_PATH | O_DIRECTORY);
	if (folder >= 0)
		unlinkat(folder, name, 0);
}

void shadow_remove_tree(struct shadow *shadow, const char *path)
{
	const char *name = strrchr(path, '/');
	AUTO_CLOSE int folder = -1;
	char full[PATH_MAX];
	struct error err;

	name = name ? name + 1 : path;
	if (!shadow->used || full_path(shadow, path, full) < 0)
		return;
	full[strlen(full) - strlen(name) - 1] = '\0';
	folder = open_beneath(shadow->state_fd, full, O_PATH | O_DIRECTORY);
	if (folder >= 0)
		fileio_remove_tree(folder, name, &err);
}

int shadow_rename(struct shadow *shadow, const char *from, const char *to)
{
	AUTO_CLOSE int old = -1, new = -1;
	const char *old_name, *new_name;

	old = shadow_folder(shadow, from, &old_name);
	if (old < 0)
		return old;
	new = shadow_folder(shadow, to, &new_name);
	if (new < 0)
		return new;
	return renameat(old, old_name, new, new_name) < 0 ? -errno : 0;
}

/* What getdents64() writes. */
struct list_entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static bool give_entry(int fd, const struct list_entry *entry,
		       shadow_entry_fn *fn, void *ctx)
{
	struct stat st;

	if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
		return true;
	if (fstatat(fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	return fn(ctx, entry->name, st.st_mode & S_IFMT);
}

int shadow_list_fd(int fd, shadow_entry_fn *fn, void *ctx)
{
	uint8_t bytes[LIST_BYTES] __attribute__((aligned(8)));
	long n;

	while ((n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct list_entry *entry =
				(const void *)(bytes + at);

			if (!give_entry(fd, entry, fn, ctx))
				return 0;
			at += entry->len;
		}
	}
	return n < 0 ? -errno : 0;
}

int shadow_list(const struct shadow *shadow, const char *path,
		shadow_entry_fn *fn, void *ctx)
{
	AUTO_CLOSE int fd = -1;

	if (!shadow->used)
		return 0;
	fd = open_in(shadow, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	return shadow_list_fd(fd, fn, ctx);
}
