/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_network.c - what bawn-registry may do
 *
 * It reads what the resolver and TLS need, and writes nothing but descriptors
 * that it was given. There is no network namespace, of course, and none of the
 * others: it holds logins, so it is not dumpable, and such a process gets none.
 * Sockets of this machine (AF_UNIX) are refused: the resolver would only ask
 * its helpers there, and somebody's Docker may listen there too.
 */
#include "image/profile.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "isolate/isolate.h"

#define NOBODY 65534 /* owns nothing; files come as descriptors */

static const char *const readable[] = {
	/* names of hosts */
	"/etc/resolv.conf",
	"/etc/hosts",
	"/etc/host.conf",
	"/etc/nsswitch.conf",
	"/etc/gai.conf",
	"/etc/services",
	"/run/systemd/resolve", /* where resolv.conf may lead */
	"/run/resolvconf",
	"/run/NetworkManager",
	"/run/connman",
	/* modules of the resolver, loaded at the first name */
	"/etc/ld.so.cache",
	"/lib",
	"/lib64",
	"/usr/lib",
	"/usr/lib64",
	/* whom to trust */
	"/etc/ssl",
	"/etc/pki",
	"/etc/ca-certificates",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
};

static const char *const syscalls[] = {
	"read",
	"pread64",
	"readv",
	"write",
	"pwrite64",
	"writev", /* descriptors that we were given */
	"lseek",
	"fstat",
	"newfstatat",
	"statx",
	"ftruncate",
	"openat",
	"open",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getdents64", /* beneath the paths above */
	"close",
	"fcntl",
	"dup",
	"pipe2",
	"eventfd2",
	"socketpair", /* libcurl wakes itself */
	"connect",
	"bind",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	"sendto",
	"recvfrom",
	"sendmsg",
	"recvmsg",
	"sendmmsg",
	"shutdown",
	"ioctl", /* FIONREAD of the resolver; no device can be opened */
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"mmap",
	"munmap",
	"mremap",
	"madvise",
	"brk",
	"mprotect",
	"getrandom",
	"clock_gettime",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"sysinfo",
	"uname",
	"futex",
	"clone", /* the resolver's thread */
	"set_robust_list",
	"rseq",
	"sched_yield",
	"sched_getaffinity",
	"prlimit64", /* stack of that thread */
	"rt_sigreturn",
	"rt_sigprocmask",
	"rt_sigaction",
	"sigaltstack",
	"restart_syscall",
	"getpid",
	"gettid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid", /* whether names from the environment may be believed */
	"tgkill",
	"exit",
	"exit_group",
	NULL,
};

#define WHOLE (~UINT64_C(0))

static const struct isolate_argument arguments[] = {
	{ "socket", 0, WHOLE, AF_INET },
	{ "socket", 0, WHOLE, AF_INET6 },
	{ .syscall = NULL },
};

/* What the C library tries first, and can do without. */
static const struct isolate_refusal refusals[] = {
	{ { "socket", 0, WHOLE, AF_UNIX }, EAFNOSUPPORT },
	{ { "socket", 0, WHOLE, AF_NETLINK }, EAFNOSUPPORT },
	{ .error = 0 }, /* no syscall: the end */
};

int profile_enter_network(struct error *err)
{
	AUTO_FREE struct isolate_path *paths =
		xcalloc(ARRAY_SIZE(readable) + 1, sizeof(*paths));
	struct isolate_profile profile = {
		.name = "bawn-registry",
		.paths = paths,
		.syscalls = syscalls,
		.arguments = arguments,
		.refusals = refusals,
		.may_connect = true,
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(readable); i++)
		paths[n++] =
			(struct isolate_path){ readable[i], -1, ISOLATE_READ };
	paths[n] = (struct isolate_path){ NULL, -1, 0 };
	if (geteuid() == 0 && isolate_drop_to(NOBODY, NOBODY, 0, err) < 0)
		return -1;
	if (isolate_early(ISOLATE_UNDUMPABLE, err) < 0)
		return -1;
	return isolate_locked(&profile, err);
}
