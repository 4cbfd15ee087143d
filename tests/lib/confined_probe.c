/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confined_probe.c - stands in QEMU's place and tries what QEMU must not do
 *
 * confined_probe list          names and what has to happen, one a line
 * confined_probe NAME          tries one: a killed process cannot try two
 * confined_probe wait          says "waiting" and waits to be killed
 * confined_probe pid           says its own process number
 * Exit code 0: it succeeded. 1: it was refused, and errno is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define A(x) ((long)(intptr_t)(x))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum expected {
	KILLED,  /* by seccomp */
	REFUSED, /* by Landlock, the private root or ENOSYS */
	WORKS,
};

struct attempt {
	const char *name;
	enum expected expected;
	long number;
	long args[6];
	long (*function)(void);
};

static char memory[4096];
static struct iovec vector = { memory, 16 };
static struct sockaddr_un nowhere = { .sun_family = AF_UNIX };
static struct rlimit limit = { 64, 64 };
static char *const no_args[] = { "true", NULL };
static struct clone_args process = { .exit_signal = SIGCHLD };

static void *in_thread(void *result)
{
	*(int *)result = 1;
	return NULL;
}

static long make_thread(void)
{
	int ran = 0;
	pthread_t thread;

	errno = pthread_create(&thread, NULL, in_thread, &ran);
	if (errno)
		return -1;
	pthread_join(thread, NULL);
	return ran ? 0 : -1;
}

static long read_ours(void)
{
	int fd = open("/bawn/ram", O_RDWR);

	return fd < 0 ? -1 : read(fd, memory, 1);
}

/* The descriptor decides, not the flags of the open. */
static long write_ours(void)
{
	int fd = open("/bawn/ram", O_RDWR);

	return fd < 0 ? -1 : write(fd, "x", 1);
}

static long read_ours_by_stream(void)
{
	FILE *file = fopen("/bawn/ram", "rb");

	return file && fgetc(file) == 'r' ? 0 : -1;
}

static long fork_by_libc(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid;
}

#ifdef __x86_64__
/* socket() by the 32-bit entry, whose numbers differ. */
static long by_int80(void)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(359), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0)
			 : "memory", "r8", "r9", "r10", "r11");
	return result < 0 ? -1 : 0;
}
#endif

/* clang-format off */
static const struct attempt attempts[] = {
	/* positive controls: without them a probe that cannot run looks safe */
	{ "thread", WORKS, 0, { 0 }, make_thread },
	{ "read library folder", WORKS, SYS_openat,
	  { AT_FDCWD, A("/usr/lib"), O_RDONLY | O_DIRECTORY }, NULL },
	{ "read own file", WORKS, 0, { 0 }, read_ours },
	{ "read own file by stream", WORKS, 0, { 0 }, read_ours_by_stream },
	/* files */
	{ "write own read-only file", REFUSED, 0, { 0 }, write_ours },
	{ "read passwd", REFUSED, SYS_openat, { AT_FDCWD, A("/etc/passwd") }, NULL },
	{ "list root", REFUSED, SYS_openat, { AT_FDCWD, A("/"), O_RDONLY | O_DIRECTORY }, NULL },
	{ "list home", REFUSED, SYS_openat, { AT_FDCWD, A("/home"), O_RDONLY | O_DIRECTORY }, NULL },
	{ "read environ", REFUSED, SYS_openat, { AT_FDCWD, A("/proc/self/environ") }, NULL },
	{ "open memory", REFUSED, SYS_openat, { AT_FDCWD, A("/proc/self/mem"), O_RDWR }, NULL },
	{ "open null device", REFUSED, SYS_openat, { AT_FDCWD, A("/dev/null"), O_RDWR }, NULL },
	{ "open kvm", REFUSED, SYS_openat, { AT_FDCWD, A("/dev/kvm"), O_RDWR }, NULL },
	{ "create in tmp", REFUSED, SYS_openat, { AT_FDCWD, A("/tmp/bawn-escaped"), O_CREAT | O_WRONLY, 0600 }, NULL },
	{ "create in root", REFUSED, SYS_openat, { AT_FDCWD, A("/bawn-escaped"), O_CREAT | O_WRONLY, 0600 }, NULL },
	{ "create in usr", REFUSED, SYS_openat, { AT_FDCWD, A("/usr/lib/bawn-escaped"), O_CREAT | O_WRONLY, 0600 }, NULL },
	{ "unnamed file", REFUSED, SYS_openat, { AT_FDCWD, A("/usr/lib"), O_TMPFILE | O_RDWR, 0600 }, NULL },
	{ "openat2", REFUSED, SYS_openat2, { AT_FDCWD, A("/etc/passwd"), A(memory), 24 }, NULL },
	{ "open_by_handle_at", KILLED, SYS_open_by_handle_at, { AT_FDCWD, A(memory), 0 }, NULL },
	{ "unlink", KILLED, SYS_unlinkat, { AT_FDCWD, A("/tmp/bawn-none"), 0 }, NULL },
	{ "rename", KILLED, SYS_renameat2, { AT_FDCWD, A("/tmp/bawn-none"), AT_FDCWD, A("/tmp/bawn-none2"), 0 }, NULL },
	{ "mkdir", KILLED, SYS_mkdirat, { AT_FDCWD, A("/tmp/bawn-none"), 0700 }, NULL },
	{ "symlink", KILLED, SYS_symlinkat, { A("/"), AT_FDCWD, A("/tmp/bawn-none") }, NULL },
	{ "link", KILLED, SYS_linkat, { AT_FDCWD, A("/usr/lib/os-release"), AT_FDCWD, A("/tmp/bawn-none"), 0 }, NULL },
	{ "mknod", KILLED, SYS_mknodat, { AT_FDCWD, A("/tmp/bawn-none"), S_IFIFO | 0600, 0 }, NULL },
	{ "chmod", KILLED, SYS_fchmodat, { AT_FDCWD, A("/tmp"), 0777 }, NULL },
	{ "chown", KILLED, SYS_fchownat, { AT_FDCWD, A("/tmp"), 0, 0, 0 }, NULL },
	/* the network and other processes' sockets */
	{ "inet socket", KILLED, SYS_socket, { AF_INET, SOCK_STREAM, 0 }, NULL },
	{ "inet6 datagram", KILLED, SYS_socket, { AF_INET6, SOCK_DGRAM, 0 }, NULL },
	{ "unix socket", KILLED, SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, NULL },
	{ "netlink socket", KILLED, SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, NULL },
	{ "vsock", KILLED, SYS_socket, { 40, SOCK_STREAM, 0 }, NULL },
	{ "socketpair", KILLED, SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, A(memory) }, NULL },
	{ "connect", KILLED, SYS_connect, { 1, A(&nowhere), sizeof(nowhere) }, NULL },
	{ "bind", KILLED, SYS_bind, { 1, A(&nowhere), sizeof(nowhere) }, NULL },
	{ "listen", KILLED, SYS_listen, { 1, 1 }, NULL },
	{ "accept", KILLED, SYS_accept4, { 1, 0, 0, 0 }, NULL },
	/* other programs and processes */
	{ "execve", KILLED, SYS_execve, { A("/usr/bin/true"), A(no_args), 0 }, NULL },
	{ "execveat", KILLED, SYS_execveat, { AT_FDCWD, A("/usr/bin/true"), A(no_args), 0, 0 }, NULL },
	{ "fork", KILLED, 0, { 0 }, fork_by_libc },
	{ "clone of a process", KILLED, SYS_clone, { SIGCHLD, 0, 0, 0, 0 }, NULL },
	{ "clone into a user namespace", KILLED, SYS_clone, { CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0 }, NULL },
	{ "clone3", REFUSED, SYS_clone3, { A(&process), sizeof(process) }, NULL },
	{ "ptrace", KILLED, SYS_ptrace, { PTRACE_TRACEME, 0, 0, 0 }, NULL },
	{ "process_vm_readv", KILLED, SYS_process_vm_readv, { 1, A(&vector), 1, A(&vector), 1, 0 }, NULL },
	{ "process_vm_writev", KILLED, SYS_process_vm_writev, { 1, A(&vector), 1, A(&vector), 1, 0 }, NULL },
	{ "kill", KILLED, SYS_kill, { 1, 0 }, NULL },
	{ "tgkill of another", KILLED, SYS_tgkill, { 2, 2, 0 }, NULL },
	{ "tkill", KILLED, SYS_tkill, { 1, 0 }, NULL },
	{ "pidfd_open", REFUSED, SYS_pidfd_open, { 1, 0 }, NULL },
	{ "pidfd_getfd", KILLED, SYS_pidfd_getfd, { 1, 1, 0 }, NULL },
	{ "pidfd_send_signal", KILLED, SYS_pidfd_send_signal, { 1, 0, 0, 0 }, NULL },
	{ "kcmp", KILLED, SYS_kcmp, { 1, 1, 0, 0, 0 }, NULL },
	{ "set limits", KILLED, SYS_prlimit64, { 0, RLIMIT_NOFILE, A(&limit), 0 }, NULL },
	{ "set priority", KILLED, SYS_setpriority, { PRIO_PROCESS, 0, 5 }, NULL },
	{ "new session", KILLED, SYS_setsid, { 0 }, NULL },
	/* namespaces and mounts */
	{ "unshare", KILLED, SYS_unshare, { CLONE_NEWUSER }, NULL },
	{ "setns", KILLED, SYS_setns, { 1, 0 }, NULL },
	{ "mount", KILLED, SYS_mount, { A("none"), A("/tmp"), A("tmpfs"), 0, 0 }, NULL },
	{ "umount", KILLED, SYS_umount2, { A("/usr/lib"), MNT_DETACH }, NULL },
	{ "fsopen", KILLED, SYS_fsopen, { A("tmpfs"), 0 }, NULL },
	{ "open_tree", KILLED, SYS_open_tree, { AT_FDCWD, A("/"), 0 }, NULL },
	{ "mount_setattr", KILLED, SYS_mount_setattr, { AT_FDCWD, A("/"), 0, A(memory), 32 }, NULL },
	{ "pivot_root", KILLED, SYS_pivot_root, { A("/"), A("/") }, NULL },
	{ "chroot", KILLED, SYS_chroot, { A("/") }, NULL },
	/* rights */
	{ "setuid", KILLED, SYS_setuid, { 0 }, NULL },
	{ "setresgid", KILLED, SYS_setresgid, { 0, 0, 0 }, NULL },
	{ "setgroups", KILLED, SYS_setgroups, { 0, 0 }, NULL },
	{ "capset", KILLED, SYS_capset, { A(memory), A(memory) }, NULL },
	{ "outlive the parent", KILLED, SYS_prctl, { PR_SET_PDEATHSIG, 0 }, NULL },
	{ "hide memory from the parent", KILLED, SYS_prctl, { PR_SET_DUMPABLE, 0 }, NULL },
	{ "keyctl", KILLED, SYS_keyctl, { 0, -3, 0 }, NULL },
	{ "add_key", KILLED, SYS_add_key, { A("user"), A("x"), A("y"), 1, -3 }, NULL },
	{ "personality", KILLED, SYS_personality, { 0xffffffff }, NULL },
	/* kernel surface */
	{ "io_uring", REFUSED, SYS_io_uring_setup, { 8, A(memory) }, NULL },
	{ "memfd_create", REFUSED, SYS_memfd_create, { A("x"), 0 }, NULL },
	{ "bpf", KILLED, SYS_bpf, { 0, A(memory), 48 }, NULL },
	{ "userfaultfd", KILLED, SYS_userfaultfd, { 0 }, NULL },
	{ "perf_event_open", KILLED, SYS_perf_event_open, { A(memory), 0, -1, -1, 0 }, NULL },
	{ "fanotify", KILLED, SYS_fanotify_init, { 0, 0 }, NULL },
	{ "inotify", KILLED, SYS_inotify_init1, { 0 }, NULL },
	{ "finit_module", KILLED, SYS_finit_module, { 0, A(""), 0 }, NULL },
	{ "kexec_load", KILLED, SYS_kexec_load, { 0, 0, 0, 0 }, NULL },
	{ "reboot", KILLED, SYS_reboot, { 0, 0, 0, 0 }, NULL },
	{ "swapon", KILLED, SYS_swapon, { A("/tmp"), 0 }, NULL },
	{ "sethostname", KILLED, SYS_sethostname, { A("x"), 1 }, NULL },
	{ "set the clock", KILLED, SYS_clock_settime, { 0, A(memory) }, NULL },
	{ "syslog", KILLED, SYS_syslog, { 10, 0, 0 }, NULL },
	{ "shmget", KILLED, SYS_shmget, { 0, 4096, 01600 }, NULL },
	{ "msgget", KILLED, SYS_msgget, { 0, 01600 }, NULL },
	{ "mq_open", KILLED, SYS_mq_open, { A("x"), O_CREAT | O_RDWR, 0600, 0 }, NULL },
	{ "type into a terminal", KILLED, SYS_ioctl, { 0, 0x5412, A("x") }, NULL },
	{ "unknown system call", KILLED, 1000, { 0 }, NULL },
#ifdef __x86_64__
	{ "x32 call", KILLED, 0x40000000 | SYS_getpid, { 0 }, NULL },
	{ "32-bit call", KILLED, 0, { 0 }, by_int80 },
	{ "vfork", KILLED, SYS_vfork, { 0 }, NULL },
	{ "ioperm", KILLED, SYS_ioperm, { 0x70, 1, 1 }, NULL },
	{ "iopl", KILLED, SYS_iopl, { 3 }, NULL },
	{ "modify_ldt", KILLED, SYS_modify_ldt, { 0, A(memory), 16 }, NULL },
#endif
};
/* clang-format on */

static int list(void)
{
	static const char *const names[] = { "killed", "refused", "works" };

	for (size_t i = 0; i < COUNT(attempts); i++)
		printf("%s\t%s\n", names[attempts[i].expected],
		       attempts[i].name);
	return 0;
}

static int try(const struct attempt *attempt)
{
	const long *a = attempt->args;
	long result;

	/* Said before: afterwards there may be nobody. */
	printf("%s: ", attempt->name);
	fflush(stdout);
	result = attempt->function ? attempt->function()
				   : syscall(attempt->number, a[0], a[1], a[2],
					     a[3], a[4], a[5]);
	if (result < 0) {
		printf("refused: %s\n", strerror(errno));
		return 1;
	}
	printf("succeeded\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "list";

	if (strcmp(name, "list") == 0)
		return list();
	if (strcmp(name, "pid") == 0)
		return printf("%d\n", (int)getpid()) < 0;
	if (strcmp(name, "wait") == 0) {
		printf("waiting\n");
		fflush(stdout);
		for (;;)
			poll(NULL, 0, -1);
	}
	for (size_t i = 0; i < COUNT(attempts); i++) {
		if (strcmp(attempts[i].name, name) == 0)
			return try(&attempts[i]);
	}
	fprintf(stderr, "%s: no such attempt\n", name);
	return 2;
}
