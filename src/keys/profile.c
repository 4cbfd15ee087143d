/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-keys gives up
 *
 * It holds every secret of a sandbox, and has no use for a network or for
 * another program; it writes into the store alone. It keeps its user: the
 * store's files are that one's.
 */
#include "keys/profile.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"
#include "isolate/isolate.h"
#include "keys/server.h"

static const char *const syscalls[] = {
	/* the loop */
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"timerfd_settime",
	/* packets, log lines */
	"read",
	"write",
	"writev",
	"recvmsg",
	"sendmsg",
	"close",
	"fcntl",
	/* the store and the services; lists for bawn-net */
	"openat",
	"fstat",
	"newfstatat",
	"lseek",
	"getdents64",
	"memfd_create",
	"geteuid",
	/* tokens of a login: the store's lock, another file in its place */
	"flock",
	"fchmod",
	"fsync",
	"renameat",
	"renameat2",
	"unlinkat",
	/* memory of secrets */
	"mlock",
	/* the seed of jansson's tables */
	"getrandom",
	ISOLATE_EVERY_PROCESS,
	NULL,
};

static const struct isolate_argument arguments[] = {
	/* abort() */
	{ "tgkill", 0, 0xffffffff, ISOLATE_OWN_PID },
	{ NULL, 0, 0, 0 },
};

int profile_enter(const struct server_config *config, struct error *err)
{
	const struct isolate_path paths[] = {
		{ config->store, -1, ISOLATE_READ | ISOLATE_WRITE },
		{ config->services, -1, ISOLATE_READ },
		{ config->services_d, -1, ISOLATE_READ },
		{ NULL, -1, 0 },
	};
	struct isolate_profile profile = {
		.name = "bawn-keys",
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
