/* SPDX-License-Identifier: Apache-2.0 */
/*
 * private_root.c - a root that holds the listed paths and nothing else
 *
 * A tmpfs becomes the root and the old root moves to a folder in it, so that
 * no path is hidden while it is still needed; then the paths are bound, the
 * old root is detached and the tmpfs is made read-only. Links on the way to a
 * path are made again, so that it has the same name inside.
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define OLD_ROOT "/.old"
#define STAGING "/tmp" /* an empty place is not needed: it is only covered */
#define PATHS_MAX 64
#define LINKS_MAX 64
#define STEPS_MAX 40 /* symbolic links in one path */

struct link {
	char name[PATH_MAX];
	char target[PATH_MAX];
};

struct bound {
	char path[PATH_MAX]; /* without links */
	mode_t mode;
	unsigned access;
};

/* Found in the old root, made in the new one. */
struct plan {
	struct link links[LINKS_MAX];
	size_t link_count;
	struct bound bounds[PATHS_MAX];
	size_t bound_count;
};

static int add_link(struct plan *plan, const char *name, const char *target,
		    struct error *err)
{
	struct link *link;

	for (size_t i = 0; i < plan->link_count; i++) {
		if (strcmp(plan->links[i].name, name) == 0)
			return 0;
	}
	if (plan->link_count == LINKS_MAX)
		return error_set(err, 0, "%s: too many links", name);
	link = &plan->links[plan->link_count++];
	text_copy(link->name, sizeof(link->name), name);
	text_copy(link->target, sizeof(link->target), target);
	return 0;
}

/* Drops the last component of path; "" is the root. */
static void to_parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/*
 * One component: appends it to real, or, if it is a link, puts its target in
 * front of what is left. 1: there is no such file.
 */
static int step(struct plan *plan, char real[PATH_MAX], const char *name,
		char rest[PATH_MAX], struct error *err)
{
	char target[PATH_MAX], joined[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		to_parent(real);
		return 0;
	}
	if (text_format(joined, sizeof(joined), "%s/%s", real, name) < 0)
		return error_set(err, ENAMETOOLONG, "%s", name);
	if (lstat(joined, &st) < 0)
		return 1;
	if (!S_ISLNK(st.st_mode)) {
		text_copy(real, PATH_MAX, joined);
		return 0;
	}
	len = readlink(joined, target, sizeof(target) - 1);
	if (len < 0)
		return error_set(err, errno, "%s", joined);
	target[len] = '\0';
	if (add_link(plan, joined, target, err) < 0)
		return -1;
	if (text_format(joined, sizeof(joined), "%s/%s", target, rest) < 0)
		return error_set(err, ENAMETOOLONG, "%s", target);
	text_copy(rest, PATH_MAX, joined);
	if (target[0] == '/')
		real[0] = '\0';
	return 0;
}

/* 1: there is no such file. */
static int resolve(struct plan *plan, const char *path, char real[PATH_MAX],
		   struct error *err)
{
	char rest[PATH_MAX], name[NAME_MAX + 1];

	real[0] = '\0';
	if (text_copy(rest, sizeof(rest), path) < 0)
		return error_set(err, ENAMETOOLONG, "%s", path);
	for (int steps = 0; steps < STEPS_MAX * 4; steps++) {
		size_t skip = strspn(rest, "/");
		size_t len = strcspn(rest + skip, "/");
		int missing;

		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return error_set(err, ENAMETOOLONG, "%s", path);
		memcpy(name, rest + skip, len);
		name[len] = '\0';
		memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
		missing = step(plan, real, name, rest, err);
		if (missing)
			return missing;
	}
	return error_set(err, ELOOP, "%s", path);
}

static bool already_bound(const struct plan *plan, const char *real)
{
	for (size_t i = 0; i < plan->bound_count; i++) {
		size_t len = strlen(plan->bounds[i].path);

		if (strncmp(plan->bounds[i].path, real, len) == 0 &&
		    (real[len] == '/' || real[len] == '\0'))
			return true;
	}
	return false;
}

static int plan_paths(struct plan *plan, const struct isolate_path *paths,
		      struct error *err)
{
	for (; paths && (paths->path || paths->fd >= 0); paths++) {
		struct bound *bound;
		struct stat st;
		int missing;

		if (!paths->path)
			continue;
		if (plan->bound_count == PATHS_MAX)
			return error_set(err, 0, "too many paths");
		bound = &plan->bounds[plan->bound_count];
		missing = resolve(plan, paths->path, bound->path, err);
		if (missing < 0)
			return -1;
		if (missing || already_bound(plan, bound->path) ||
		    lstat(bound->path, &st) < 0)
			continue;
		bound->mode = st.st_mode;
		bound->access = paths->access;
		plan->bound_count++;
	}
	return 0;
}

static int make_parents(const char *path, struct error *err)
{
	char parent[PATH_MAX];

	text_copy(parent, sizeof(parent), path);
	to_parent(parent);
	return parent[0] ? fileio_mkdirs(parent, 0755, err) : 0;
}

static int make_target(const struct bound *bound, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	if (S_ISDIR(bound->mode))
		return fileio_mkdirs(bound->path, 0755, err);
	if (make_parents(bound->path, err) < 0)
		return -1;
	fd = open(bound->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
	return fd < 0 ? error_set(err, errno, "%s", bound->path) : 0;
}

/* For kernels before 5.12: the topmost mount only. */
static int restrict_mount_old(const char *path, uint64_t attributes)
{
	unsigned long flags = MS_REMOUNT | MS_BIND;
	struct statvfs st;

	if (statvfs(path, &st) < 0)
		return -1;
	if (st.f_flag & ST_NOEXEC)
		flags |= MS_NOEXEC;
	if ((attributes & MOUNT_ATTR_RDONLY) || (st.f_flag & ST_RDONLY))
		flags |= MS_RDONLY;
	if ((attributes & MOUNT_ATTR_NODEV) || (st.f_flag & ST_NODEV))
		flags |= MS_NODEV;
	return mount(NULL, path, NULL, flags | MS_NOSUID, NULL);
}

static int restrict_mount(const char *path, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	if (syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attr,
		    sizeof(attr)) == 0)
		return 0;
	return errno == ENOSYS ? restrict_mount_old(path, attributes) : -1;
}

static int bind_one(const struct bound *bound, struct error *err)
{
	uint64_t attributes = MOUNT_ATTR_NOSUID;
	char from[PATH_MAX + sizeof(OLD_ROOT)];

	if (make_target(bound, err) < 0)
		return -1;
	text_format(from, sizeof(from), OLD_ROOT "%s", bound->path);
	if (mount(from, bound->path, NULL, MS_BIND | MS_REC, NULL) < 0)
		return error_set(err, errno, "bind %s", bound->path);
	if (!S_ISCHR(bound->mode))
		attributes |= MOUNT_ATTR_NODEV;
	if (!(bound->access & ISOLATE_WRITE))
		attributes |= MOUNT_ATTR_RDONLY;
	if (restrict_mount(bound->path, attributes) < 0)
		return error_set(err, errno, "remount %s", bound->path);
	return 0;
}

static int make_copy(const struct isolate_copy *copy, struct error *err)
{
	AUTO_CLOSE int to = -1;
	char block[16384];
	off_t offset = 0;
	ssize_t n;

	if (make_parents(copy->path, err) < 0)
		return -1;
	to = open(copy->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	if (to < 0)
		return error_set(err, errno, "%s", copy->path);
	while ((n = pread(copy->fd, block, sizeof(block), offset)) > 0) {
		if (fileio_write_all(to, block, (size_t)n, err) < 0)
			return -1;
		offset += n;
	}
	return n < 0 ? error_set(err, errno, "%s", copy->path) : 0;
}

static int fill(const struct plan *plan, const struct isolate_profile *profile,
		struct error *err)
{
	const struct isolate_copy *copy;
	size_t i;

	for (i = 0; i < plan->bound_count; i++) {
		if (bind_one(&plan->bounds[i], err) < 0)
			return -1;
	}
	for (i = 0; i < plan->link_count; i++) {
		const struct link *link = &plan->links[i];

		/* One beneath a bound folder is there already. */
		if (already_bound(plan, link->name))
			continue;
		if (make_parents(link->name, err) < 0)
			return -1;
		if (symlink(link->target, link->name) < 0 && errno != EEXIST)
			return error_set(err, errno, "%s", link->name);
	}
	for (copy = profile->copies; copy && copy->path; copy++) {
		if (make_copy(copy, err) < 0)
			return -1;
	}
	return 0;
}

static int change_root(struct error *err)
{
	/* The size bounds what `copies` may hold; nothing else is written. */
	if (mount("bawn", STAGING, "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0755,size=16m") < 0)
		return error_set(err, errno, "tmpfs");
	if (mkdir(STAGING OLD_ROOT, 0700) == 0 &&
	    syscall(SYS_pivot_root, STAGING, STAGING OLD_ROOT) == 0)
		return chdir("/") < 0 ? error_set(err, errno, "/") : 0;
	error_set(err, errno, "pivot_root");
	umount2(STAGING, MNT_DETACH);
	return -1;
}

/* The caller may go on without a private root, but not in half of one. */
static void change_back(void)
{
	if (syscall(SYS_pivot_root, OLD_ROOT, OLD_ROOT STAGING) == 0 &&
	    chdir("/") == 0)
		umount2(STAGING, MNT_DETACH);
}

int private_root_enter(const struct isolate_profile *profile, struct error *err)
{
	AUTO_FREE struct plan *plan = calloc(1, sizeof(*plan));
	mode_t mask;
	int filled;

	if (!plan)
		return error_set(err, ENOMEM, "plan");
	if (plan_paths(plan, profile->paths, err) < 0 || change_root(err) < 0)
		return -1;
	mask = umask(0);
	filled = fill(plan, profile, err);
	umask(mask);
	if (filled < 0) {
		change_back();
		return -1;
	}
	if (umount2(OLD_ROOT, MNT_DETACH) < 0 || rmdir(OLD_ROOT) < 0)
		return error_set(err, errno, "old root");
	if (mount(NULL, "/", NULL,
		  MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
		  NULL) < 0)
		return error_set(err, errno, "read-only root");
	return 0;
}
