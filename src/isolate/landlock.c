/* SPDX-License-Identifier: Apache-2.0 */
/*
 * landlock.c - file rights by path, with three system calls
 *
 * The kernel's interface grew; each version's rights are handled when the
 * kernel knows them. Constants are ours, because the headers of a stable
 * distribution are older than the kernels that it runs on.
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

#define LANDLOCK_VERSION_FLAG 1U
#define LANDLOCK_PATH_BENEATH 1

enum landlock_right {
	RIGHT_EXECUTE = 1 << 0,
	RIGHT_WRITE_FILE = 1 << 1,
	RIGHT_READ_FILE = 1 << 2,
	RIGHT_READ_DIR = 1 << 3,
	RIGHT_REMOVE_DIR = 1 << 4,
	RIGHT_REMOVE_FILE = 1 << 5,
	RIGHT_MAKE_CHAR = 1 << 6,
	RIGHT_MAKE_DIR = 1 << 7,
	RIGHT_MAKE_REG = 1 << 8,
	RIGHT_MAKE_SOCK = 1 << 9,
	RIGHT_MAKE_FIFO = 1 << 10,
	RIGHT_MAKE_BLOCK = 1 << 11,
	RIGHT_MAKE_SYM = 1 << 12,
	RIGHT_REFER = 1 << 13,     /* version 2 */
	RIGHT_TRUNCATE = 1 << 14,  /* version 3 */
	RIGHT_IOCTL_DEV = 1 << 15, /* version 5 */
};

#define RIGHTS_V1 ((RIGHT_MAKE_SYM << 1) - 1)
#define RIGHTS_OF_FILES                                                        \
	(RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE | \
	 RIGHT_IOCTL_DEV)
#define RIGHTS_READ (RIGHT_READ_FILE | RIGHT_READ_DIR)
/* Neither device nodes nor FIFOs are ever made by us. */
#define RIGHTS_WRITE                                           \
	(RIGHTS_READ | RIGHT_WRITE_FILE | RIGHT_REMOVE_DIR |   \
	 RIGHT_REMOVE_FILE | RIGHT_MAKE_DIR | RIGHT_MAKE_REG | \
	 RIGHT_MAKE_SOCK | RIGHT_MAKE_SYM | RIGHT_REFER | RIGHT_TRUNCATE)

#define NET_BIND 1U /* of TCP, version 4 */
#define NET_CONNECT 2U
#define SCOPE_ALL 3U /* abstract sockets and signals, version 6 */

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_VERSION_FLAG);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t handled_rights(int abi)
{
	uint64_t rights = RIGHTS_V1;

	if (abi >= 2)
		rights |= RIGHT_REFER;
	if (abi >= 3)
		rights |= RIGHT_TRUNCATE;
	if (abi >= 5)
		rights |= RIGHT_IOCTL_DEV;
	return rights;
}

static uint64_t wanted_rights(unsigned access, mode_t mode)
{
	uint64_t rights = 0;

	if (access & ISOLATE_READ)
		rights |= RIGHTS_READ;
	if (access & ISOLATE_WRITE)
		rights |= RIGHTS_WRITE;
	if (access & ISOLATE_EXECUTE)
		rights |= RIGHT_EXECUTE | RIGHT_READ_FILE;
	/* A device that one may not talk to is of no use. */
	if (S_ISCHR(mode) && (access & ISOLATE_WRITE))
		rights |= RIGHT_IOCTL_DEV;
	if (!S_ISDIR(mode))
		rights &= RIGHTS_OF_FILES;
	return rights;
}

static int add_path(int ruleset, const struct isolate_path *path,
		    uint64_t handled, struct error *err)
{
	AUTO_CLOSE int opened = -1;
	struct path_attr attr;
	struct stat st;
	int fd = path->fd;

	if (path->path) {
		opened = open(path->path, O_PATH | O_CLOEXEC);
		if (opened < 0 && (errno == ENOENT || errno == ENOTDIR))
			return 0;
		/* Not ours to walk to: then it cannot be used either. */
		if (opened < 0 && errno == EACCES)
			return 0;
		if (opened < 0)
			return error_set(err, errno, "%s", path->path);
		fd = opened;
	}
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "%s",
				 path->path ? path->path : "descriptor");
	attr.allowed = wanted_rights(path->access, st.st_mode) & handled;
	attr.parent_fd = fd;
	if (!attr.allowed)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_PATH_BENEATH,
		    &attr, 0) < 0)
		return error_set(err, errno, "Landlock rule for %s",
				 path->path ? path->path : "descriptor");
	return 0;
}

int landlock_restrict(const struct isolate_profile *profile, struct error *err)
{
	const struct isolate_path *paths = profile->paths;
	struct ruleset_attr attr = { 0 };
	size_t attr_size = sizeof(attr.handled_fs);
	AUTO_CLOSE int ruleset = -1;
	int abi = landlock_abi();

	if (!abi)
		return error_set(err, errno, "Landlock");
	attr.handled_fs = handled_rights(abi);
	if (abi >= 4) {
		attr.handled_net =
			NET_BIND | (profile->may_connect ? 0 : NET_CONNECT);
		attr_size = 2 * sizeof(uint64_t);
	}
	if (abi >= 6) {
		attr.scoped = SCOPE_ALL;
		attr_size = sizeof(attr);
	}
	ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, attr_size, 0);
	if (ruleset < 0)
		return error_set(err, errno, "Landlock ruleset");
	for (size_t i = 0; paths && (paths[i].path || paths[i].fd >= 0); i++) {
		if (add_path(ruleset, &paths[i], attr.handled_fs, err) < 0)
			return -1;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return error_set(err, errno, "Landlock");
	return 0;
}
