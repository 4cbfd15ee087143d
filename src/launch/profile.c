/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-launch gives up, and with it all that it starts
 *
 * It reads no guest's bytes, but what it starts does and inherits this list:
 * no way to another process or to the machine. The paths stay: a folder may be
 * shared at any time. The network stays too: bawn-net needs it. bawn-files and
 * bawn-net give up the rest by themselves; tests/static/launch_calls compares
 * the lists.
 */
#include "launch/profile.h"

#include <errno.h>
#include <asm/ioctls.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "isolate/isolate.h"

static const char *const syscalls[] = {
	/* the loop */
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"epoll_create1",
	"timerfd_create",
	"timerfd_settime",
	"signalfd4",
	"poll",
	"ppoll",
	/* channels, log lines, start messages */
	"read",
	"write",
	"readv",
	"writev",
	"sendto",
	"sendmsg",
	"recvfrom",
	"recvmsg",
	"close",
	"pipe2",
	"memfd_create",
	"fcntl",
	/* clients, and who they are */
	"accept4",
	"getsockopt",
	/* listeners of published ports, for bawn-net */
	"bind",
	"listen",
	"setsockopt",
	/* who has which address, and bawn-net's connections */
	"getsockname",
	"getpeername",
	/* a named Unix socket: to ask what it is, and for bawn-net */
	"connect",
	"shutdown",
	/* a child, its descriptors and its end */
	"clone",
	"vfork",
	"execve",
	"setsid",
	"dup",
	"dup2",
	"dup3",
	"close_range",
	"pidfd_open",
	"pidfd_send_signal",
	"wait4",
	"waitid",
	/* how a program begins */
	"access",
	"faccessat",
	"faccessat2",
	"arch_prctl",
	"set_tid_address",
	"set_robust_list",
	"rseq",
	"prlimit64",
	"getrlimit",
	"setrlimit",
	"sysinfo",
	"uname",
	"readlink",
	"sched_getaffinity",
	"sched_yield",
	/* how bawn-files and bawn-net take a user and lock themselves */
	"setgroups",
	"getgroups",
	"setresgid",
	"setresuid",
	"getresuid",
	"getresgid",
	"capset",
	"capget",
	"prctl",
	"unshare",
	"seccomp",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
	"umask",
	"chdir",
	"fchdir",
	"inotify_init1",
	/* locks; what goes with --rm */
	"flock",
	"fchown",
	"fchmod",
	"unlink",
	"rmdir",
	"mkdir",
	"rename",
	/* bawn-files: by name, again through itself, new */
	"openat2",
	"openat",
	"open",
	/* attributes */
	"statx",
	"stat",
	"lstat",
	"fstat",
	"newfstatat",
	"fchmodat",
	"chmod",
	"utimensat",
	"statfs",
	"fstatfs",
	/* file data; whence and holes; folders */
	"pread64",
	"fadvise64",
	"pwrite64",
	"preadv",
	"pwritev",
	"preadv2",
	"pwritev2",
	"ftruncate",
	"fallocate",
	"lseek",
	"copy_file_range",
	"getdents64",
	/* what the guest wants on the disk */
	"fsync",
	"fdatasync",
	"syncfs",
	"sync_file_range",
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
	"fsetxattr",
	"fgetxattr",
	"flistxattr",
	"fremovexattr",
	/* host changes */
	"inotify_add_watch",
	"inotify_rm_watch",
	/* memory, also of a thread */
	"brk",
	"mmap",
	"munmap",
	"mremap",
	"madvise",
	"mprotect",
	"mlock",
	"mlock2", /* OpenSSL of bawn-net, for keys */
	"eventfd2",
	/* markers; time */
	"getrandom",
	"clock_gettime",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	/* signals, and the C library's abort() */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"getpid",
	"getppid",
	"gettid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"tgkill",
	/* libc's locks; the end */
	"futex",
	"restart_syscall",
	"exit",
	"exit_group",
	NULL,
};

static const struct isolate_argument arguments[] = {
	/* the channels to bawn-files and bawn-net */
	{ "socketpair", 0, 0xffffffff, AF_UNIX },
	/* published ports; and what bawn-net connects to */
	{ "socket", 0, 0xffffffff, AF_INET },
	{ "socket", 0, 0xffffffff, AF_INET6 },
	/* named sockets */
	{ "socket", 0, 0xffffffff, AF_UNIX },
	/* the host's addresses */
	{ "socket", 0, 0xffffffff, AF_NETLINK },
	/* a copy that shares its blocks, where bawn-files keeps old content */
	{ "ioctl", 1, 0xffffffff, FICLONE },
	/* bawn-files asks, before it locks itself, whether names fold case */
	{ "ioctl", 1, 0xffffffff, FS_IOC_GETFLAGS },
	/* libc asks whether something is a terminal */
	{ "ioctl", 1, 0xffffffff, TCGETS },
	{ NULL, 0, 0, 0 },
};

/*
 * Root's: to become the owner of a share, reach it, and own its state; to
 * publish a port below 1024.
 */
static const unsigned kept[] = {
	CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
	CAP_FOWNER, CAP_KILL,         CAP_SETGID,
	CAP_SETUID, CAP_SETPCAP,      CAP_NET_BIND_SERVICE,
};

/*
 * Dormant, and never a child's after exec: a namespace without a network can be
 * made with it alone, and a process whose share is root's has no other way.
 */
#define FOR_NAMESPACES CAP_SYS_ADMIN

static bool is_kept(unsigned capability)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (kept[i] == capability)
			return true;
	}
	return false;
}

static int keep_few_capabilities(struct error *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	/* The bounding set too: root would get them back by exec. */
	for (unsigned i = 0; i < 64; i++) {
		if (!is_kept(i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			break;
	}
	if (syscall(SYS_capget, &header, sets) < 0)
		return error_set(err, errno, "capabilities");
	for (unsigned i = 0; i < 64; i++) {
		uint32_t bit = is_kept(i) ? 0 : UINT32_C(1) << (i % 32);

		sets[i / 32].effective &= ~bit;
		sets[i / 32].permitted &= i == FOR_NAMESPACES ? ~0U : ~bit;
		sets[i / 32].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, sets) < 0)
		return error_set(err, errno, "capabilities");
	return 0;
}

/* Refused in containers. The network is bawn-net's, and stays. */
static void leave_namespaces(void)
{
	if (unshare(CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return;
}

int profile_leave_network(void *ctx, struct error *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const uint32_t bit = UINT32_C(1) << FOR_NAMESPACES;

	/* A user's bawn-files does it by itself. */
	if (geteuid() != 0)
		return 0;
	if (syscall(SYS_capget, &header, sets) < 0)
		return error_set(err, errno, "capabilities");
	sets[0].effective |= sets[0].permitted & bit;
	if (syscall(SYS_capset, &header, sets) < 0)
		return error_set(err, errno, "capabilities");
	/* Refused in containers; its list of calls knows no network either. */
	(void)!unshare(CLONE_NEWNET);
	return 0;
}

int profile_enter(struct error *err)
{
	const struct rlimit none = { 0, 0 };
	const struct isolate_profile profile = {
		.name = "bawn-launch",
		.syscalls = syscalls,
		.arguments = arguments,
	};

	if (geteuid() == 0) {
		leave_namespaces();
		if (keep_few_capabilities(err) < 0 ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    setrlimit(RLIMIT_CORE, &none) < 0)
			return error_set(err, errno, "bawn-launch");
	} else if (isolate_early(0, err) < 0) {
		return -1;
	}
	return isolate_syscalls(&profile, err);
}
