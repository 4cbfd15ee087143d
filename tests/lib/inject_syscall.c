/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_syscall.c - makes a running process do one system call (x86-64)
 *
 * inject_syscall PID NAME [ARG...]
 * An ARG is a number, or text that is put into the process's stack and passed
 * by address. Prints "NAME = RESULT" (negative: -errno and its name) or "NAME:
 * killed by signal N". Exit code 0: it was done; 1: it could not be tried.
 *
 * All threads are stopped, so that nobody runs over what is written. The main
 * thread is made to wait in a system call usually: then the instruction before
 * its position is the one that we need. Otherwise it is put there for a moment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

#define THREADS_MAX 256
#define SYSCALL_INSTRUCTION 0x050f
#define STACK_GAP 8192 /* below what the interrupted function may use */
#define ARGS_MAX 6

static pid_t threads[THREADS_MAX];
static size_t thread_count;

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* Stops one; -1 when it is gone. */
static int stop(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) < 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ||
	    waitpid(tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
		return -1;
	return 0;
}

static bool is_stopped(pid_t tid)
{
	for (size_t i = 0; i < thread_count; i++) {
		if (threads[i] == tid)
			return true;
	}
	return false;
}

/* The main thread is the first one. Until no new one shows up. */
static int stop_all(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	size_t before;
	DIR *tasks;

	if (stop(pid) < 0)
		return -1;
	threads[thread_count++] = pid;
	text_format(path, sizeof(path), "/proc/%d/task", (int)pid);
	do {
		before = thread_count;
		tasks = opendir(path);
		if (!tasks)
			return -1;
		while ((entry = readdir(tasks)) && thread_count < THREADS_MAX) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (tid > 0 && !is_stopped(tid) && stop(tid) == 0)
				threads[thread_count++] = tid;
		}
		closedir(tasks);
	} while (thread_count != before);
	return 0;
}

static void let_go(void)
{
	for (size_t i = thread_count; i-- > 0;)
		ptrace(PTRACE_DETACH, threads[i], NULL, NULL);
}

static int put(pid_t pid, unsigned long where, const void *bytes, size_t len)
{
	struct iovec from = { (void *)(uintptr_t)bytes, len };
	struct iovec to = { (void *)where, len };

	return process_vm_writev(pid, &from, 1, &to, 1, 0) == (ssize_t)len ? 0
									   : -1;
}

/* Fills args; texts go to the stack. */
static int put_args(pid_t pid, unsigned long stack, int count, char **text,
		    unsigned long args[ARGS_MAX])
{
	for (int i = 0; i < count && i < ARGS_MAX; i++) {
		char *end;

		errno = 0;
		args[i] = (unsigned long)strtoll(text[i], &end, 0);
		if (end != text[i] && !*end)
			continue;
		args[i] = stack + (unsigned long)i * 1024;
		if (strlen(text[i]) >= 1024 ||
		    put(pid, args[i], text[i], strlen(text[i]) + 1) < 0)
			return -1;
	}
	return 0;
}

/*
 * The next status of the main thread. When the process is killed, the others
 * are reported to us first, and the main thread only after the last of them.
 */
static int next_status(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(-1, status, __WALL);
	while (got > 0 && got != pid);
	return got == pid ? 0 : -1;
}

/* Entry, then exit. 0: done; otherwise the signal that ended the process. */
static int step_through(pid_t pid)
{
	int status;

	for (int stops = 0; stops < 2;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0)
			return SIGKILL;
		if (next_status(pid, &status) < 0)
			return SIGKILL;
		if (WIFSIGNALED(status))
			return WTERMSIG(status);
		if (WIFEXITED(status))
			return SIGKILL;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			stops++;
	}
	return 0;
}

static void report_death(const char *name, int signal)
{
	printf("%s: killed by signal %d (%s)\n", name, signal,
	       strsignal(signal));
}

static void report(const char *name, long result)
{
	if (result < 0 && result > -4096)
		printf("%s = %ld %s\n", name, result,
		       strerrorname_np((int)-result));
	else
		printf("%s = %ld\n", name, result);
}

/*
 * A killing filter lets the call return first and then ends the process: one
 * step of the program itself shows whether it still can.
 */
static int survives(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 ||
	    next_status(pid, &status) < 0)
		return SIGKILL;
	if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS) {
		ptrace(PTRACE_CONT, pid, NULL, SIGSYS);
		if (next_status(pid, &status) < 0)
			return SIGSYS;
	}
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WIFEXITED(status) ? SIGKILL : 0;
}

static void set_call(struct user_regs_struct *regs, long number,
		     const unsigned long args[ARGS_MAX])
{
	regs->rip -= 2;
	regs->rax = (unsigned long)number;
	regs->orig_rax = ~0UL; /* nothing to restart */
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

static int inject(pid_t pid, long number, const char *name, int count,
		  char **text)
{
	struct user_regs_struct before, regs;
	unsigned long args[ARGS_MAX] = { 0 };
	int signal;
	long code;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &before) < 0)
		return fail("registers");
	if (put_args(pid, (before.rsp - STACK_GAP) & ~15UL, count, text, args) <
	    0)
		return fail("arguments");
	regs = before;
	set_call(&regs, number, args);
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, pid, regs.rip, NULL);
	if (errno)
		return fail("code");
	if ((code & 0xffff) != SYSCALL_INSTRUCTION)
		ptrace(PTRACE_POKETEXT, pid, regs.rip,
		       (code & ~0xffffL) | SYSCALL_INSTRUCTION);
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) < 0)
		return fail("registers");
	signal = step_through(pid);
	if (!signal && ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return fail("result");
	if ((code & 0xffff) != SYSCALL_INSTRUCTION)
		ptrace(PTRACE_POKETEXT, pid, before.rip - 2, code);
	/* The call that was interrupted returns EINTR, and is repeated. */
	if ((long)before.orig_rax >= 0)
		before.rax = (unsigned long)-EINTR;
	before.orig_rax = ~0UL;
	ptrace(PTRACE_SETREGS, pid, NULL, &before);
	if (!signal)
		signal = survives(pid);
	if (signal)
		report_death(name, signal);
	else
		report(name, (long)regs.rax);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	int number = argc > 2 ? seccomp_syscall_resolve_name(argv[2]) : -1;
	int code;

	if (pid <= 0 || number < 0) {
		fprintf(stderr, "usage: inject_syscall PID NAME [ARG...]\n");
		return 1;
	}
	if (stop_all(pid) < 0)
		return fail("stop");
	code = inject(pid, number, argv[2], argc - 3, argv + 3);
	let_go();
	return code;
}
