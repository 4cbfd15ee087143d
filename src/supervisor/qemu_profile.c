/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu_profile.c - QEMU's confinement, as data
 *
 * The lists were made by tracing QEMU 7.2 at all that we have it do (boot,
 * warm image, restore, QMP with descriptors, qcow2 with discard, device state)
 * and then by reading what the C library and QEMU call on other kernels.
 * Whatever is not here kills QEMU: the guest loses its machine, the host
 * nothing.
 */
#include "supervisor/qemu_profile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define SHIM_PATH "/shim/bawn-ramshim.so"
#define OPEN_FILES_MAX 1024

/* Read-only all of them, and nothing of them is a user's. */
static const struct isolate_path system_paths[] = {
	/* libraries and QEMU's modules */
	{ "/usr/lib", -1, ISOLATE_READ },
	{ "/lib", -1, ISOLATE_READ },
	{ "/usr/lib64", -1, ISOLATE_READ },
	{ "/lib64", -1, ISOLATE_READ },
	{ "/usr/local/lib", -1, ISOLATE_READ },
	{ "/etc/ld.so.cache", -1, ISOLATE_READ },
	/* the loader counts as executed when QEMU is */
	{ "/lib64/ld-linux-x86-64.so.2", -1, ISOLATE_READ | ISOLATE_EXECUTE },
	{ "/lib/ld-linux-aarch64.so.1", -1, ISOLATE_READ | ISOLATE_EXECUTE },
	/* firmware and option ROMs */
	{ "/usr/share/qemu", -1, ISOLATE_READ },
	{ "/usr/share/seabios", -1, ISOLATE_READ },
	{ "/usr/share/qboot", -1, ISOLATE_READ },
	{ "/usr/local/share/qemu", -1, ISOLATE_READ },
};

/*
 * Not here, on purpose: socket, connect, bind, accept, fork, ptrace,
 * process_vm_*, io_uring, bpf, userfaultfd, keyctl, unshare, setns, mount,
 * chroot, kill, unlink, rename, chmod, chown, and every way to a new privilege.
 */
static const char *const syscalls[] = {
	/* the one exec; the preloaded library takes it away again */
	"execve",
	/* loader and C library */
	"brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "msync",
	"arch_prctl", "set_tid_address", "set_robust_list", "rseq", "getrandom",
	"uname", "sysinfo",
	/* finding and reading firmware and libraries; paths are Landlock's */
	"open", "openat", "access", "faccessat", "faccessat2", "stat", "lstat",
	"fstat", "newfstatat", "statx", "readlink", "readlinkat", "statfs",
	"fstatfs", "getdents64", "getcwd", "fchdir",
	/* disks, RAM file, device state */
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv",
	"pwritev", "preadv2", "pwritev2", "lseek", "fsync", "fdatasync",
	"fallocate", "ftruncate", "fadvise64", "copy_file_range",
	"sync_file_range", "close", "close_range", "dup", "dup2", "dup3",
	/* connected socket pairs: QMP, console, ports */
	"recvmsg", "sendmsg", "recvfrom", "sendto", "getsockopt", "setsockopt",
	"getsockname", "getpeername", "shutdown",
	/* the main loop and its wake-ups */
	"poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl",
	"epoll_wait", "epoll_pwait", "epoll_pwait2", "eventfd2", "pipe2",
	"signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime",
	/* threads: vCPUs, workers, RCU; creating one is below */
	"futex", "futex_waitv", "exit", "exit_group", "sched_yield",
	"sched_getaffinity", "gettid", "getpid", "getppid", "membarrier",
	"getcpu",
	/* time */
	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
	"gettimeofday", "time", "timer_create", "timer_settime", "timer_delete",
	"timer_getoverrun", "restart_syscall", "getrusage", "times",
	/* signals to itself; sending is below */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait",
	"rt_sigpending", "rt_sigsuspend", "sigaltstack",
	/* who am I */
	"getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid",
	"getgroups", "capget",
	/* QEMU's own filter on top of this one */
	"seccomp", NULL
};

/* Probed at start, and done without. */
static const char *const syscalls_enosys[] = {
	"io_uring_setup", "io_setup",      "memfd_create", "memfd_secret",
	"get_mempolicy",  "set_mempolicy", "mbind",        "sched_getattr",
	"sched_setattr",  "pidfd_open",    "openat2",      NULL
};

#define ANY (~UINT64_C(0))
/* An int argument: the upper half of the register is not part of it. */
#define INT UINT64_C(0xffffffff)
#define NEW_NAMESPACE                                                 \
	(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWCGROUP)
#define THREAD (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND)

/* The first row is for KVM only. */
static const struct isolate_argument arguments[] = {
	/* everything of KVM: type 0xae */
	{ "ioctl", 1, UINT64_C(0xff00), UINT64_C(0xae00) },
	/* is it a terminal? is there input? alignment of files on XFS */
	{ "ioctl", 1, INT, 0x5401 },     /* TCGETS */
	{ "ioctl", 1, INT, 0x5421 },     /* FIONBIO */
	{ "ioctl", 1, INT, 0x541b },     /* FIONREAD */
	{ "ioctl", 1, INT, 0x800c581e }, /* XFS_IOC_DIOINFO */
	/* flags, duplicates and locks of descriptors; never F_SETOWN, which
	 * has the kernel send signals, nor leases */
	{ "fcntl", 1, INT, F_DUPFD },
	{ "fcntl", 1, INT, F_DUPFD_CLOEXEC },
	{ "fcntl", 1, INT, F_GETFD },
	{ "fcntl", 1, INT, F_SETFD },
	{ "fcntl", 1, INT, F_GETFL },
	{ "fcntl", 1, INT, F_SETFL },
	{ "fcntl", 1, INT, F_GETLK },
	{ "fcntl", 1, INT, F_SETLK },
	{ "fcntl", 1, INT, F_SETLKW },
	{ "fcntl", 1, INT, F_OFD_GETLK },
	{ "fcntl", 1, INT, F_OFD_SETLK },
	{ "fcntl", 1, INT, F_OFD_SETLKW },
	{ "fcntl", 1, INT, F_GETPIPE_SZ },
	{ "fcntl", 1, INT, F_SETPIPE_SZ },
	{ "fcntl", 1, INT, F_GET_SEALS },
	{ "fcntl", 1, INT, F_ADD_SEALS },
	/* threads, never processes */
	{ "clone", 0, NEW_NAMESPACE | THREAD, THREAD },
	/* vCPU kicks and abort() */
	{ "tgkill", 0, INT, ISOLATE_OWN_PID },
	/* reading limits, not setting them */
	{ "prlimit64", 2, ANY, 0 },
	/* names of threads, timer slack, memory errors, the sandbox; never the
	 * parent death signal, nor whether the supervisor may read us */
	{ "prctl", 0, INT, PR_SET_NAME },
	{ "prctl", 0, INT, PR_GET_NAME },
	{ "prctl", 0, INT, PR_SET_TIMERSLACK },
	{ "prctl", 0, INT, PR_MCE_KILL },
	{ "prctl", 0, INT, PR_SET_NO_NEW_PRIVS },
	{ "prctl", 0, INT, PR_GET_NO_NEW_PRIVS },
	{ "prctl", 0, INT, PR_GET_SECCOMP },
	{ "prctl", 0, INT, PR_SET_SECCOMP },
	{ "prctl", 0, INT, PR_CAPBSET_READ },
	{ "prctl", 0, INT, 0x53564d41 }, /* PR_SET_VMA: names of malloc's */
	{ NULL, 0, 0, 0 },
};

static const struct isolate_path path_end = { NULL, -1, 0 };

/* Ended, and room is left for QEMU_PROFILE_PATHS - the returned count. */
static size_t common_paths(const char *qemu,
			   struct isolate_path paths[QEMU_PROFILE_PATHS])
{
	size_t count = ARRAY_SIZE(system_paths);

	static_assert(ARRAY_SIZE(system_paths) + 4 <= QEMU_PROFILE_PATHS,
		      "no room for the emulator, the library, the root");
	memcpy(paths, system_paths, sizeof(system_paths));
	paths[count++] =
		(struct isolate_path){ qemu, -1,
				       ISOLATE_READ | ISOLATE_EXECUTE };
	paths[count] = path_end;
	return count;
}

static void fill_profile(const struct qemu_profile *profile,
			 const struct isolate_path *paths,
			 struct isolate_profile *isolate)
{
	*isolate = (struct isolate_profile){
		.name = "QEMU",
		.namespaces = ISOLATE_NET | ISOLATE_IPC | ISOLATE_PID |
			      ISOLATE_MOUNT | ISOLATE_UTS,
		.paths = paths,
		.syscalls = syscalls,
		.syscalls_enosys = syscalls_enosys,
		.arguments = profile->accel == START_ACCEL_KVM ? arguments
							       : arguments + 1,
	};
}

int qemu_profile_open(struct qemu_profile *profile, const char *qemu,
		      int shim_fd, enum start_accel accel, struct error *err)
{
	const struct isolate_copy copies[] = { { SHIM_PATH, shim_fd },
					       { NULL, -1 } };
	const struct isolate_profile caller = {
		.name = "bawn-supervisor",
		.namespaces = ISOLATE_NET | ISOLATE_IPC,
	};
	struct isolate_profile isolate;
	struct isolate_path *paths = profile->paths;
	size_t count;

	*profile = (struct qemu_profile){
		.qemu = qemu,
		.shim_fd = shim_fd,
		.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC),
		.accel = accel,
		.stage = ISOLATE_STAGE_NONE,
	};
	if (profile->null_fd < 0)
		return error_set(err, errno, "/dev/null");
	if (isolate_namespaces(&caller, err) < 0)
		return -1;
	count = common_paths(qemu, paths);
	fill_profile(profile, paths, &isolate);
	isolate.private_root = true;
	isolate.copies = copies;
	if (isolate_stage(&isolate, &profile->stage, err) < 0)
		return -1;
	paths[count++] = (struct isolate_path){ NULL, shim_fd, ISOLATE_READ };
	if (profile->stage.root_fd >= 0)
		paths[count++] =
			(struct isolate_path){ NULL, profile->stage.root_fd,
					       ISOLATE_READ };
	paths[count] = path_end;
	return 0;
}

void qemu_profile_release(struct qemu_profile *profile)
{
	isolate_stage_release(&profile->stage);
	if (profile->null_fd >= 0)
		close(profile->null_fd);
	profile->null_fd = -1;
}

/* Never RLIMIT_NPROC: it counts all of the user's processes. */
static int limit_resources(void *ctx, struct error *err)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	(void)ctx;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return error_set(err, errno, "RLIMIT_NOFILE");
	if (files.rlim_max > OPEN_FILES_MAX)
		files.rlim_max = OPEN_FILES_MAX;
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return error_set(err, errno, "RLIMIT_NOFILE");
	if (setrlimit(RLIMIT_MSGQUEUE, &none) < 0 ||
	    setrlimit(RLIMIT_CORE, &none) < 0)
		return error_set(err, errno, "resource limits");
	return 0;
}

/* QEMU looks for its firmware beside argv[0] when there is no /proc. */
static const char **full_argv(const char *const *argv, const char *qemu)
{
	size_t count = 0;
	const char **copy;

	while (argv[count])
		count++;
	copy = xcalloc(count + 2, sizeof(*copy));
	copy[0] = qemu;
	for (size_t i = 1; i < count; i++)
		copy[i] = argv[i];
	return copy;
}

/*
 * The caller's, /dev/null for what it has not of 0, 1 and 2, and the library,
 * whose number in the child goes to shim_to.
 */
static struct child_fd *all_fds(const struct qemu_profile *profile,
				const struct qemu_profile_args *args,
				size_t *count, int *shim_to)
{
	struct child_fd *fds = xcalloc(args->fd_count + 4, sizeof(*fds));
	bool listed[3] = { false };
	size_t n;

	*shim_to = 3;
	for (n = 0; n < args->fd_count; n++) {
		fds[n] = args->fds[n];
		if (fds[n].to >= *shim_to)
			*shim_to = fds[n].to + 1;
		if (fds[n].to >= 0 && fds[n].to <= 2)
			listed[fds[n].to] = true;
	}
	for (int fd = 0; fd <= 2; fd++) {
		if (!listed[fd])
			fds[n++] = (struct child_fd){ profile->null_fd, fd };
	}
	fds[n++] = (struct child_fd){ profile->shim_fd, *shim_to };
	*count = n;
	return fds;
}

int qemu_profile_spawn(const struct qemu_profile *profile,
		       const struct qemu_profile_args *args,
		       struct child *child, struct error *err)
{
	struct isolate_path paths[QEMU_PROFILE_PATHS];
	size_t path_count = common_paths(profile->qemu, paths);
	char files[256], preload[64];
	const char *const env[] = { preload, files, NULL };
	AUTO_FREE struct child_fd *fds = NULL;
	AUTO_FREE const char **argv = NULL;
	struct isolate_profile isolate;
	struct child_spec spec = { 0 };
	int shim_to;

	fds = all_fds(profile, args, &spec.fd_count, &shim_to);
	argv = full_argv(args->argv, profile->qemu);
	if (text_format(files, sizeof(files), "BAWN_SHIM_FDS=%s",
			args->shim_files ? args->shim_files : "") < 0)
		return error_set(err, 0, "too many files for QEMU");
	/* A private root has no /proc; any other root has. */
	if (profile->stage.root_fd >= 0) {
		paths[path_count++] =
			(struct isolate_path){ SHIM_PATH, -1, ISOLATE_READ };
		text_copy(preload, sizeof(preload), "LD_PRELOAD=" SHIM_PATH);
	} else {
		paths[path_count++] =
			(struct isolate_path){ NULL, shim_to, ISOLATE_READ };
		text_format(preload, sizeof(preload),
			    "LD_PRELOAD=/proc/self/fd/%d", shim_to);
	}
	paths[path_count] = path_end;
	spec.path = profile->qemu;
	spec.argv = argv;
	spec.env = env;
	spec.fds = fds;
	spec.prepare = limit_resources;
	fill_profile(profile, paths, &isolate);
	return isolate_spawn(&isolate, &profile->stage, &spec, child, err);
}
