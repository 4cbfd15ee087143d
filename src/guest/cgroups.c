/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroups.c - one process tree for each session, all of them below one limit
 */
#include "guest/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/slice.h"
#include "guest/sysfile.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif
#define MOUNT_POINT "/sys/fs/cgroup"
#define MIB (1024ull * 1024)
#define RESERVE_BYTES (80 * MIB) /* for PID 1, its relays and the kernel */
#define SESSIONS_BYTES_MIN (64 * MIB)

static void group_name(unsigned number, char name[32])
{
	text_format(name, 32, "s%u", number);
}

static void write_number(int dirfd, const char *file, uint64_t number)
{
	char text[32];

	text_format(text, sizeof(text), "%llu", (unsigned long long)number);
	if (sysfile_write(dirfd, file, text))
		log_warn("cgroup %s: %s", file, strerror(errno));
}

/* Each one by itself: a kernel that lacks one still gives the others. */
static void enable_controllers(int dirfd, const char *const *names)
{
	char text[32];

	for (; *names; names++) {
		text_format(text, sizeof(text), "+%s", *names);
		if (sysfile_write(dirfd, "cgroup.subtree_control", text))
			log_debug("cgroup %s: %s", text, strerror(errno));
	}
}

static int mount_tree(struct error *err)
{
	if (mount("cgroup2", MOUNT_POINT, "cgroup2",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return error_set(err, errno, "mount of %s", MOUNT_POINT);
	return 0;
}

static void set_limits(struct cgroups *cgroups)
{
	struct sysinfo info;
	uint64_t total, tasks;

	if (sysinfo(&info))
		return;
	total = (uint64_t)info.totalram * info.mem_unit;
	write_number(cgroups->top, "memory.max",
		     total > RESERVE_BYTES + SESSIONS_BYTES_MIN
			     ? total - RESERVE_BYTES
			     : SESSIONS_BYTES_MIN);
	/* A task costs some 30 KiB of kernel memory even when it does nothing.
	 */
	tasks = total / MIB * 4;
	if (tasks < 1024)
		tasks = 1024;
	if (tasks > 30000)
		tasks = 30000;
	write_number(cgroups->top, "pids.max", tasks);
	/* One session's fork bomb leaves room to start another one. */
	cgroups->session_tasks_max = tasks - tasks / 8;
}

/*
 * The namespace begins at the group that its maker is in; PID 1 goes there
 * for a moment and comes back through a descriptor of the real root.
 */
static int enter_namespace(int root, int top, struct error *err)
{
	AUTO_CLOSE int back =
		openat(root, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int failed = 0;

	if (back < 0 || sysfile_write(top, "cgroup.procs", "0"))
		return error_set(err, errno, "cgroup.procs");
	if (unshare(CLONE_NEWCGROUP))
		failed = errno;
	if (write(back, "0", 1) < 0)
		return error_set(err, errno, "leaving the session cgroup");
	if (failed)
		return error_set(err, failed, "cgroup namespace");
	if (umount2(MOUNT_POINT, MNT_DETACH))
		return error_set(err, errno, "%s", MOUNT_POINT);
	return mount_tree(err);
}

int cgroups_setup(struct cgroups *cgroups, struct error *err)
{
	static const char *const all[] = { "cpu",    "cpuset", "io",
					   "memory", "pids",   NULL };
	static const char *const each[] = { "cpu", "pids", NULL };
	AUTO_CLOSE int root = -1;

	*cgroups = (struct cgroups){ .top = -1 };
	if (mount_tree(err))
		return -1;
	root = open(MOUNT_POINT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_set(err, errno, "%s", MOUNT_POINT);
	enable_controllers(root, all);
	if (mkdirat(root, "bawn", 0755) && errno != EEXIST)
		return error_set(err, errno, "cgroup of the sessions");
	cgroups->top = openat(root, "bawn", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroups->top < 0)
		return error_set(err, errno, "cgroup of the sessions");
	set_limits(cgroups);
	if (enter_namespace(root, cgroups->top, err))
		return -1;
	enable_controllers(cgroups->top, each);
	return 0;
}

struct cgroup cgroups_make(struct cgroups *cgroups)
{
	struct cgroup group = { .fd = -1, .number = ++cgroups->last_number };
	char name[32];

	group_name(group.number, name);
	/* A session's root user may have made one of this name. */
	if (mkdirat(cgroups->top, name, 0755) && errno != EEXIST)
		return group;
	group.fd =
		openat(cgroups->top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group.fd >= 0)
		write_number(group.fd, "pids.max", cgroups->session_tasks_max);
	return group;
}

static int says(int events, const char *fact)
{
	char text[256];
	ssize_t len = pread(events, text, sizeof(text) - 1, 0);
	struct slice rest = { text, len > 0 ? (size_t)len : 0 }, line;

	while (slice_line(&rest, &line)) {
		if (slice_equals(line, fact))
			return 1;
	}
	return 0;
}

int cgroups_freeze(struct cgroups *cgroups, int timeout_ms)
{
	AUTO_CLOSE int events =
		openat(cgroups->top, "cgroup.events", O_RDONLY | O_CLOEXEC);
	uint64_t deadline = loop_now_ms() + (uint64_t)timeout_ms;

	if (events < 0 || sysfile_write(cgroups->top, "cgroup.freeze", "1"))
		return -1;
	cgroups->frozen = 1;
	while (!says(events, "frozen 1")) {
		struct pollfd wait = { .fd = events, .events = POLLPRI };
		uint64_t now = loop_now_ms();

		if (now >= deadline)
			return -1;
		poll(&wait, 1, (int)(deadline - now));
	}
	return 0;
}

void cgroups_thaw(struct cgroups *cgroups)
{
	if (!cgroups->frozen)
		return;
	if (sysfile_write(cgroups->top, "cgroup.freeze", "0"))
		log_error("thaw: %s", strerror(errno));
	cgroups->frozen = 0;
}

/* For kernels before 5.14. Twice: a fork may have been under way. */
static void kill_each(int dirfd)
{
	char text[16384];

	for (int round = 0; round < 2; round++) {
		struct slice rest, line;
		uint64_t pid;

		if (sysfile_read(dirfd, "cgroup.procs", text, sizeof(text)) < 0)
			return;
		rest = slice_of(text);
		while (slice_line(&rest, &line)) {
			if (!slice_number(line, INT32_MAX, &pid) && pid > 1)
				kill((pid_t)pid, SIGKILL);
		}
	}
}

void cgroup_kill(const struct cgroup *cgroup)
{
	if (cgroup->fd < 0)
		return;
	if (sysfile_write(cgroup->fd, "cgroup.kill", "1"))
		kill_each(cgroup->fd);
}

int cgroups_any(const struct cgroups *cgroups)
{
	AUTO_CLOSE int events =
		openat(cgroups->top, "cgroup.events", O_RDONLY | O_CLOEXEC);

	return events >= 0 && says(events, "populated 1");
}

void cgroups_kill(const struct cgroups *cgroups)
{
	struct cgroup top = { .fd = cgroups->top };

	cgroup_kill(&top);
}

bool cgroup_is_used(const struct cgroup *cgroup)
{
	AUTO_CLOSE int events =
		openat(cgroup->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

	return events < 0 || says(events, "populated 1");
}

int cgroup_join(const struct cgroup *cgroup)
{
	return sysfile_write(cgroup->fd, "cgroup.procs", "0");
}

int cgroup_remove(struct cgroups *cgroups, struct cgroup *cgroup)
{
	char name[32];

	if (cgroup->fd < 0)
		return 0;
	group_name(cgroup->number, name);
	if (unlinkat(cgroups->top, name, AT_REMOVEDIR) && errno == EBUSY)
		return -1;
	close(cgroup->fd);
	cgroup->fd = -1;
	return 0;
}
