/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - start a process with exactly these descriptors and environment
 *
 * The child reports through a close-on-exec pipe: end of file means that exec
 * happened, a struct error means that it did not. fork() and not vfork():
 * prepare may do anything, and the parents are small.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

enum {
	FDS_MAX = 64,
};

static void default_signals(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&action.sa_mask);
	/* SIGKILL, SIGSTOP and the libc's own two refuse: they need nothing. */
	for (int signal = 1; signal < _NSIG; signal++)
		(void)sigaction(signal, &action, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool is_listed(const struct child_spec *spec, int fd)
{
	for (size_t i = 0; i < spec->fd_count; i++) {
		if (spec->fds[i].to == fd)
			return true;
	}
	return false;
}

/* The lowest number above 2 and above each number that the child wants. */
static int first_spare(const struct child_spec *spec)
{
	int spare = 3;

	for (size_t i = 0; i < spec->fd_count; i++) {
		if (spec->fds[i].to >= spare)
			spare = spec->fds[i].to + 1;
	}
	return spare;
}

/* 0, 1 and 2 are always open: a file opened later must not become stderr. */
static int place_stdio(const struct child_spec *spec, struct error *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		int null;

		if (is_listed(spec, fd))
			continue;
		/* Inherited: also when the parent marked it close-on-exec. */
		if (!(spec->flags & CHILD_NULL_STDIO) &&
		    fcntl(fd, F_SETFD, 0) == 0)
			continue;
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0)
			return error_set(err, errno, "/dev/null");
		if (null == fd && fcntl(fd, F_SETFD, 0) == 0)
			continue;
		if (dup2(null, fd) < 0)
			return error_set(err, errno, "descriptor %d", fd);
		close(null);
	}
	return 0;
}

/* Closes all above 2 but the listed ones and keep. */
static int close_rest(const struct child_spec *spec, int keep,
		      struct error *err)
{
	unsigned first = 3;

	for (;;) {
		unsigned next = keep >= (int)first ? (unsigned)keep : ~0U;

		for (size_t i = 0; i < spec->fd_count; i++) {
			unsigned to = (unsigned)spec->fds[i].to;

			if (to >= first && to < next)
				next = to;
		}
		if (next > first &&
		    syscall(SYS_close_range, first,
			    next == ~0U ? next : next - 1, 0) < 0)
			return error_set(err, errno, "close_range");
		if (next == ~0U)
			return 0;
		first = next + 1;
	}
}

/*
 * Sources and targets may overlap in any way (swapped, shifted), so all
 * sources move above the targets first.
 */
static int place_fds(const struct child_spec *spec, int report,
		     struct error *err)
{
	int spare = first_spare(spec);
	int moved[FDS_MAX];

	for (size_t i = 0; i < spec->fd_count; i++) {
		moved[i] = fcntl(spec->fds[i].from, F_DUPFD_CLOEXEC, spare);
		if (moved[i] < 0)
			return error_set(err, errno, "descriptor %d",
					 spec->fds[i].from);
	}
	for (size_t i = 0; i < spec->fd_count; i++) {
		if (dup2(moved[i], spec->fds[i].to) < 0)
			return error_set(err, errno, "descriptor %d",
					 spec->fds[i].to);
	}
	if (place_stdio(spec, err) < 0)
		return -1;
	return close_rest(spec, report, err);
}

static int die_with(pid_t parent, struct error *err)
{
	pid_t now;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return error_set(err, errno, "PR_SET_PDEATHSIG");
	/*
	 * It may have died before the request, and then no signal comes. 0 is
	 * a parent outside of our PID namespace.
	 */
	now = getppid();
	if (now != parent && now != 0)
		return error_set(err, ESRCH, "the parent is gone");
	return 0;
}

/* In the child. Returns only to report why there was no exec. */
static int become(const struct child_spec *spec, pid_t parent, int report,
		  struct error *err)
{
	static const char *const no_env[] = { NULL };
	const char *const *env = spec->env ? spec->env : no_env;

	if ((spec->flags & CHILD_NEW_SESSION) && setsid() < 0)
		return error_set(err, errno, "setsid");
	if ((spec->flags & CHILD_DIE_WITH_US) && die_with(parent, err) < 0)
		return -1;
	if (place_fds(spec, report, err) < 0)
		return -1;
	if (spec->prepare && spec->prepare(spec->prepare_ctx, err) < 0)
		return -1;
	/* Again: the kernel forgets it when prepare changed the user. */
	if (spec->prepare && (spec->flags & CHILD_DIE_WITH_US) &&
	    die_with(parent, err) < 0)
		return -1;
	execve(spec->path, (char *const *)spec->argv, (char *const *)env);
	return error_set(err, errno, "%s", spec->path);
}

static _Noreturn void child_main(const struct child_spec *spec, pid_t parent,
				 int report_read, int report_write)
{
	struct error err = { 0 };
	int report;
	ssize_t ignored;

	default_signals();
	/*
	 * Our ends of the pipe may be 0, 1 or 2 when the parent had closed
	 * those: out of the way before anything is inherited.
	 */
	report = fcntl(report_write, F_DUPFD_CLOEXEC, first_spare(spec));
	if (report < 0) {
		(void)error_set(&err, errno, "report pipe");
		report = report_write;
	} else {
		close(report_read);
		close(report_write);
		(void)become(spec, parent, report, &err);
	}
	ignored = write(report, &err, sizeof(err));
	(void)ignored;
	_exit(127);
}

static int check_spec(const struct child_spec *spec, struct error *err)
{
	if (spec->path[0] != '/')
		return error_set(err, 0, "%s: not an absolute path",
				 spec->path);
	if (spec->fd_count > FDS_MAX)
		return error_set(err, 0, "%s: more than %d descriptors",
				 spec->path, FDS_MAX);
	for (size_t i = 0; i < spec->fd_count; i++) {
		if (spec->fds[i].from < 0 || spec->fds[i].to < 0)
			return error_set(err, EBADF, "%s: descriptor %d",
					 spec->path, spec->fds[i].from);
	}
	return 0;
}

/* Waits for exec. Returns -1 with the child's own words when it failed. */
static int read_report(int fd, struct error *err)
{
	struct error report = { 0 };
	size_t len = 0;

	while (len < sizeof(report)) {
		ssize_t got =
			read(fd, (char *)&report + len, sizeof(report) - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	if (!len)
		return 0;
	report.text[sizeof(report.text) - 1] = '\0';
	if (err)
		*err = report;
	return -1;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int child_spawn(const struct child_spec *spec, struct child *child,
		struct error *err)
{
	AUTO_CLOSE int report_read = -1, report_write = -1;
	pid_t parent = getpid(), pid;
	sigset_t all, before;
	int ends[2], fork_errno;

	if (check_spec(spec, err) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	report_read = ends[0];
	report_write = ends[1];
	/* No handler of ours may run in the child before it is reset. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	fork_errno = errno;
	if (!pid)
		child_main(spec, parent, report_read, report_write);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return error_set(err, fork_errno, "fork");
	close(TAKE_FD(report_write));
	if (read_report(report_read, err) < 0) {
		reap(pid);
		return -1;
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (child->pidfd < 0) {
		(void)error_set(err, errno, "pidfd_open");
		(void)kill(pid, SIGKILL);
		reap(pid);
		return -1;
	}
	child->pid = pid;
	return 0;
}

int child_wait(struct child *child, int *status, struct error *err)
{
	pid_t got;

	do {
		got = waitpid(child->pid, status, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(err, errno, "wait for process %d",
				 (int)child->pid);
	if (child->pidfd >= 0)
		close(child->pidfd);
	*child = (struct child){ .pid = -1, .pidfd = -1 };
	return 0;
}

int child_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

const char *child_tool(const char *name, struct error *err)
{
	static const char *const folders[] = { "/usr/bin", "/usr/sbin", "/bin",
					       "/sbin", "/usr/libexec" };
	/* Found once; kept so that the same name costs nothing again. */
	static struct tool {
		struct tool *next;
		char *path;
		char name[64];
	} * found;
	struct tool *tool;
	char path[128];
	struct stat st;

	if (strchr(name, '/') || strlen(name) >= sizeof(tool->name) || !*name) {
		(void)error_set(err, 0, "%s: not a name of a tool", name);
		return NULL;
	}
	for (tool = found; tool; tool = tool->next) {
		if (strcmp(tool->name, name) == 0)
			return tool->path;
	}
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		(void)text_format(path, sizeof(path), "%s/%s", folders[i],
				  name);
		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
		    access(path, X_OK) < 0)
			continue;
		tool = xcalloc(1, sizeof(*tool));
		tool->path = xstrdup(path);
		(void)text_copy(tool->name, sizeof(tool->name), name);
		tool->next = found;
		found = tool;
		return tool->path;
	}
	(void)error_set(err, ENOENT, "%s: not in the system's folders", name);
	return NULL;
}
