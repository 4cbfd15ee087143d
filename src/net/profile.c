/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-net may do once it reads a guest's bytes
 *
 * It keeps the host's network and nothing else: no path (Landlock without any
 * rule), no program, no process, no socket but for TCP and UDP.
 */
#include "net/profile.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "isolate/isolate.h"
#include "net/limit.h"

static const char *const syscalls[] = {
	/* the loop */
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"timerfd_settime",
	/* the first list of secrets */
	"poll",
	/* the port, the launcher's packets and settings, log and names */
	"read",
	"readv",
	"write",
	"writev",
	"recvmsg",
	"sendmsg",
	"lseek",
	"fstat",
	"newfstatat",
	"close",
	"fcntl",
	/* connections; socket() is below */
	"connect",
	"accept4",
	"sendto",
	"recvfrom",
	"shutdown",
	"getsockopt",
	"setsockopt",
	"getsockname",
	"getpeername",
	"mlock",        /* what holds a secret */
	"memfd_create", /* tokens for bawn-keys */
	/* ids of questions, keys of TLS; how much memory to sort in */
	"getrandom",
	"sysinfo",
	ISOLATE_EVERY_PROCESS,
	NULL,
};

#define INT UINT64_C(0xffffffff)
#define TYPE UINT64_C(0xf) /* without SOCK_CLOEXEC and SOCK_NONBLOCK */

/* The protocol is 0: no ping, nothing raw. */
#define SOCKET(family, type)                               \
	{ "socket", 0 | ISOLATE_AND, INT, family },        \
		{ "socket", 1 | ISOLATE_AND, TYPE, type }, \
	{                                                  \
		"socket", 2, INT, 0                        \
	}

static const struct isolate_argument arguments[] = {
	SOCKET(AF_INET, SOCK_STREAM),
	SOCKET(AF_INET6, SOCK_STREAM),
	/* name servers */
	SOCKET(AF_INET, SOCK_DGRAM),
	SOCKET(AF_INET6, SOCK_DGRAM),
	/* abort() */
	{ "tgkill", 0, INT, ISOLATE_OWN_PID },
	{ NULL, 0, 0, 0 },
};

static const struct isolate_path no_paths[] = { { NULL, -1, 0 } };

/* As many as the host lets us have, up to what we can use. */
static int limit_descriptors(struct error *err)
{
	const struct rlimit wanted = { LIMIT_DESCRIPTORS, LIMIT_DESCRIPTORS };
	struct rlimit limit;

	/* More than the hard limit is root's alone, and not always root's. */
	if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return 0;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_set(err, errno, "descriptor limit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return error_set(err, errno, "descriptor limit");
	return 0;
}

static int drop_root(uid_t uid, unsigned namespaces, struct error *err)
{
	if (geteuid() != 0)
		return 0;
	if (!uid)
		return error_set(err, 0, "started by root without a uid");
	return isolate_drop_to(uid, uid, namespaces, err);
}

int profile_enter(uid_t uid, struct error *err)
{
	const struct isolate_profile profile = {
		.name = "bawn-net",
		.namespaces = ISOLATE_IPC | ISOLATE_UTS,
		.paths = no_paths,
		.may_connect = true,
		.syscalls = syscalls,
		.arguments = arguments,
	};

	if (limit_descriptors(err) < 0 ||
	    drop_root(uid, profile.namespaces, err) < 0)
		return -1;
	/* Should the launcher have died since, its channel tells. */
	return isolate_hidden(&profile, err);
}
