/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-layers gives up
 *
 * It keeps one folder of the cache: no other path, no network, no other
 * process.
 */
#include "layers/profile.h"

#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"
#include "isolate/isolate.h"

static const char *const syscalls[] = {
	/* the loop */
	"epoll_create1",
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"timerfd_create",
	"timerfd_settime",
	/* packets, pipes, layers; log lines */
	"recvmsg",
	"sendmsg",
	"pipe2",
	"read",
	"write",
	"writev",
	"close",
	"fcntl",
	"lseek",
	/* the folder */
	"openat",
	"fstat",
	"newfstatat",
	"statx",
	"fstatfs",
	"getdents64",
	"flock",
	"utimensat",
	"fdatasync",
	"renameat",
	"renameat2",
	"unlinkat",
	/* jansson's hash seed */
	"getrandom",
	ISOLATE_EVERY_PROCESS,
	NULL,
};

static const struct isolate_argument arguments[] = {
	/* abort() */
	{ "tgkill", 0, 0xffffffff, ISOLATE_OWN_PID },
	{ NULL, 0, 0, 0 },
};

int profile_enter(int folder, struct error *err)
{
	const struct isolate_path paths[] = {
		{ NULL, folder, ISOLATE_READ | ISOLATE_WRITE },
		{ NULL, -1, 0 },
	};
	struct isolate_profile profile = {
		.name = "bawn-layers",
		.namespaces = ISOLATE_NET | ISOLATE_IPC | ISOLATE_UTS,
		.paths = paths,
		.syscalls = syscalls,
		.arguments = arguments,
	};

	/* Root's launcher took the network away; the rest goes here, since
	 * root without capabilities cannot map itself. */
	if (geteuid() == 0) {
		(void)!unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
		profile.namespaces = 0;
	}
	return isolate_hidden(&profile, err);
}
