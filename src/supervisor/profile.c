/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - the supervisor's system calls, with a reason for each
 *
 * In force from before the first byte of QEMU or the guest is read. No execve,
 * no fork, no socket, no connect, no ptrace: QEMU is running by then, and it is
 * the only child.
 */
#include "supervisor/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "supervisor/pagemap_scan.h"

const char *const profile_syscalls[] = {
	/* the loop */
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"timerfd_settime",
	/* channels: monitor, guest port, console, clients */
	"read",
	"write",
	"readv",
	"writev",
	"sendmsg",
	"sendto",
	"recvfrom",
	"close",
	/* new clients, and who they are */
	"accept4",
	"getsockopt",
	/* locks */
	"flock",
	/* state.json: written aside and renamed; console.log: turned over */
	"openat",
	"rename",
	"renameat",
	"renameat2",
	"fstat",
	"newfstatat",
	"statx",
	"fchmod",
	"lseek",
	/* control.sock, and what a failed write left behind */
	"unlinkat",
	"unlink",
	/* a warm image must be on the disk; --rm gives the space back */
	"fsync",
	/* a snapshot: its folder, QEMU's pages, the pages of the old file */
	"mkdirat",
	"fallocate",
	"process_vm_readv",
	"pread64",
	"pwrite64",
	"pwritev",
	"fdatasync",
	"ftruncate",
	"sync_file_range",
	/* the thread that copies it (saving_copy.c) */
	"eventfd2",
	"rseq",
	/* is there room on the disk again */
	"fstatfs",
	/* markers and entropy for the guest; temporary names */
	"getrandom",
	/* time, and the time zone's absence */
	"clock_gettime",
	"gettimeofday",
	"time",
	"clock_nanosleep",
	/* the end of QEMU */
	"pidfd_send_signal",
	"wait4",
	"waitid",
	/* memory */
	"brk",
	"mmap",
	"munmap",
	"mremap",
	"madvise",
	"mprotect",
	/* signals, in signalfd and in libc's abort() */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"gettid",
	/* own numbers, for state.json and temporary names */
	"getpid",
	"getuid",
	"geteuid",
	/* libc's locks; the end */
	"futex",
	"restart_syscall",
	"exit",
	"exit_group",
	NULL,
};

const char *const profile_syscalls_enosys[] = {
	"set_robust_list",
	"sched_getaffinity",
	NULL,
};

#define INT UINT64_C(0xffffffff)

/* Others of the same uid may be the user's own processes: no signal to them. */
const struct isolate_argument profile_arguments[] = {
	/* libc's abort() */
	{ "tgkill", 0, INT, ISOLATE_OWN_PID },
	/* non-blocking mode of a client; duplicate for getfd; never F_SETOWN,
	 * which has the kernel send signals */
	{ "fcntl", 1, INT, F_DUPFD },
	{ "fcntl", 1, INT, F_DUPFD_CLOEXEC },
	{ "fcntl", 1, INT, F_GETFD },
	{ "fcntl", 1, INT, F_SETFD },
	{ "fcntl", 1, INT, F_GETFL },
	{ "fcntl", 1, INT, F_SETFL },
	/* a thread, never a process */
	{ "clone", 0,
	  CLONE_THREAD | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
		  CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWCGROUP,
	  CLONE_THREAD },
	/* its priority, nobody else's */
	{ "setpriority", 0 | ISOLATE_AND, INT, PRIO_PROCESS },
	{ "setpriority", 1, INT, 0 },
	/* which pages are QEMU's own */
	{ "ioctl", 1, INT, PAGEMAP_SCAN_REQUEST },
	{ NULL, 0, 0, 0 },
};

/* libc asks whether a stream is a terminal. */
const struct isolate_refusal profile_refusals[] = {
	{ { "ioctl", 1, INT, TCGETS }, ENOTTY },
	{ { NULL, 0, 0, 0 }, 0 },
};
