/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-files may do once it reads a guest's bytes
 *
 * Landlock leaves it the shared folders. The working folder is /proc/self/fd,
 * where it opens its own descriptors again; with a root of its own that would
 * be a way out, so Landlock is not optional here.
 */
#include "files/profile.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "files/server.h"
#include "isolate/isolate.h"

#define DESCRIPTORS_MAX 4096

static const char *const syscalls[] = {
	/* the loop */
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"timerfd_settime",
	/* the last answers at a planned end */
	"poll",
	"ppoll",
	/* the port, host changes, signals, log lines */
	"read",
	"write",
	"writev",
	"close",
	/* a node's descriptor: by its name, again through itself, new */
	"openat2",
	"openat",
	"open",
	/* attributes */
	"statx",
	"fstat",
	"newfstatat",
	"fchmodat",
	"chmod",
	"utimensat",
	"fstatfs",
	/* file data; whence and holes; folders */
	"pread64",
	"fadvise64", /* what will be read next */
	"pwritev2",
	"pwrite64", /* copies for undo to another file system */
	"ftruncate",
	"fallocate",
	"lseek",
	"copy_file_range",
	"getdents64",
	/* what the guest wants on the disk */
	"fsync",
	"fdatasync",
	"syncfs",
	/* … by a thread with a descriptor of its own; opendir() for what is
	 * removed of a shadow */
	"fcntl",
	/* names */
	"mkdirat",
	"mknodat",
	"symlinkat",
	"linkat",
	"unlinkat",
	"renameat",
	"renameat2",
	"readlinkat",
	/* user.* attributes */
	"setxattr",
	"getxattr",
	"listxattr",
	"removexattr",
	/* host changes */
	"inotify_add_watch",
	"inotify_rm_watch",
	/* signals, and the C library's abort() */
	"tgkill",
	ISOLATE_EVERY_PROCESS,
	NULL,
};

#define NAMESPACES (ISOLATE_NET | ISOLATE_IPC | ISOLATE_UTS)

/*
 * Clears *namespaces when they are entered here: root without capabilities
 * could not map itself into a user namespace.
 */
static int take_owner(const struct server *server, unsigned *namespaces,
		      struct error *err)
{
	unsigned first = 0;
	struct stat st;

	if (geteuid() != 0)
		return 0;
	while (first + 1 < server->share_count && server->shares[first].gone)
		first++;
	if (server->shares[first].gone)
		return error_set(err, 0, "no share is left");
	if (fstat(server->shares[first].root_fd, &st) < 0)
		return error_set(err, errno, "%s", server->shares[first].path);
	if (st.st_uid != 0)
		return isolate_drop_to(st.st_uid,
				       st.st_gid ? st.st_gid : st.st_uid,
				       *namespaces, err);
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0)
		*namespaces = 0;
	return 0;
}

static int limit_descriptors(struct error *err)
{
	const struct rlimit limit = { DESCRIPTORS_MAX, DESCRIPTORS_MAX };

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_set(err, errno, "descriptor limit");
	return 0;
}

int profile_enter(struct server *server, struct error *err)
{
	struct isolate_path paths[NODE_SHARES_MAX + 2] = { 0 };
	struct isolate_profile profile = {
		.name = "bawn-files",
		.namespaces = NAMESPACES,
		.paths = paths,
		.syscalls = syscalls,
	};
	size_t count = 0;

	for (unsigned i = 0; i < server->share_count; i++) {
		const struct share *share = &server->shares[i];

		if (!share->gone)
			paths[count++] = (struct isolate_path){
				.fd = share->root_fd,
				.access = share->read_only ? ISOLATE_READ
							   : ISOLATE_WRITE
			};
	}
	if (server->state_fd >= 0)
		paths[count++] =
			(struct isolate_path){ .fd = server->state_fd,
					       .access = ISOLATE_WRITE };
	paths[count].fd = -1;
	if (limit_descriptors(err) < 0 ||
	    take_owner(server, &profile.namespaces, err) < 0 ||
	    isolate_early(0, err) < 0)
		return -1;
	/* After the change of user, which /proc checks. */
	if (chdir("/proc/self/fd") < 0)
		return error_set(err, errno, "/proc/self/fd");
	umask(0);
	/* Undumpable only then: a user namespace needs our /proc files. */
	if (isolate_paths(&profile, err) < 0 ||
	    isolate_early(ISOLATE_UNDUMPABLE, err) < 0)
		return -1;
	/* The kernel forgot it with the change of user. Should the launcher
	 * have died since, its channel tells. */
	if (server->control.source.fd >= 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (worker_start(server, err) < 0 ||
	    scout_start(&server->scout, err) < 0)
		return -1;
	return isolate_syscalls(&profile, err);
}
