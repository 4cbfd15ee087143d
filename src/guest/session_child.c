/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_child.c - from the fork to the program of a session
 */
#include "guest/session_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/accounts.h"
#include "guest/environment.h"
#include "proto/messages.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static _Noreturn void give_up(const struct session_child *child,
			      enum session_stage stage, int code)
{
	struct session_report report = { stage, (uint32_t)code };
	ssize_t ignored = write(child->report, &report, sizeof(report));

	(void)ignored;
	_exit(127);
}

/* A missing file is an empty one. */
static struct slice read_accounts(const char *path)
{
	struct buffer text = BUFFER_INIT(ACCOUNT_FILE_MAX);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct error err;

	if (fd < 0 || fileio_read_fd(fd, &text, &err))
		return (struct slice){ NULL, 0 };
	return (struct slice){ (const char *)text.data, text.len };
}

static void find_account(const struct session_child *child,
			 struct account *account)
{
	struct account_files files = {
		.passwd = read_accounts("/etc/passwd"),
		.group = read_accounts("/etc/group"),
	};

	if (account_resolve(&files, child->start->user, account))
		give_up(child, SESSION_STAGE_USER, ENOENT);
}

static void enter_terminal(const struct session_child *child,
			   const struct account *account)
{
	int slave = ioctl(child->terminal, TIOCGPTPEER, O_RDWR | O_NOCTTY);

	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0))
		give_up(child, SESSION_STAGE_OTHER, errno);
	if (account->uid && fchown(slave, account->uid, (gid_t)-1))
		give_up(child, SESSION_STAGE_OTHER, errno);
	dup2(slave, STDIN_FILENO);
	dup2(slave, STDOUT_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave); /* above 2: those are always open */
}

static void set_stdio(const struct session_child *child, int from, int to,
		      const struct account *account)
{
	if (from < 0)
		return;
	/* Pipes belong to PID 1; /dev/stdout must open for the user. */
	if (account->uid && fchown(from, account->uid, account->gid))
		give_up(child, SESSION_STAGE_OTHER, errno);
	if (dup2(from, to) < 0)
		give_up(child, SESSION_STAGE_OTHER, errno);
}

static void become(const struct session_child *child,
		   const struct account *account)
{
	if (setgroups(account->group_count, account->groups) ||
	    setresgid(account->gid, account->gid, account->gid) ||
	    setresuid(account->uid, account->uid, account->uid))
		give_up(child, SESSION_STAGE_USER, errno);
}

static void enter_folder(const struct session_child *child,
			 const struct account *account)
{
	const char *folder = child->start->folder;

	if (*folder) {
		if (chdir(folder))
			give_up(child, SESSION_STAGE_FOLDER, errno);
	} else if (chdir(account->home) && chdir("/")) {
		give_up(child, SESSION_STAGE_FOLDER, errno);
	}
}

/* One free place in front, for the shell of a script without "#!". */
static const char **list_arguments(const struct message_strings *strings)
{
	const char **argv = xcalloc(strings->count + 2, sizeof(argv[0]));
	const char *text = NULL;

	for (uint32_t i = 0; i < strings->count; i++) {
		text = message_string_next(strings, text);
		argv[i + 1] = text;
	}
	return argv + 1;
}

/* Returns errno; as execvp() does, a file of no known format is a script. */
static int try_exec(const char *path, const char **argv,
		    const struct environment *environment)
{
	const char *first = argv[0];

	execve(path, (char *const *)argv, (char *const *)environment->vars);
	if (errno != ENOEXEC)
		return errno;
	argv[-1] = "/bin/sh";
	argv[0] = path;
	execve("/bin/sh", (char *const *)(argv - 1),
	       (char *const *)environment->vars);
	argv[0] = first;
	return ENOEXEC;
}

static int search_and_exec(const char **argv,
			   const struct environment *environment)
{
	const char *path = environment_get(environment, "PATH");
	char file[4096];
	int worst = ENOENT;

	while (environment_path_next(&path, argv[0], file, sizeof(file))) {
		int code = try_exec(file, argv, environment);

		if (code == EACCES)
			worst = EACCES; /* unless a later folder has it */
		else if (code != ENOENT && code != ENOTDIR && code != ELOOP)
			return code;
	}
	return worst;
}

/* No program asked for: the user's login shell, as login(1) names it. */
static int exec_login_shell(const struct account *account,
			    const struct environment *environment)
{
	const char *const shells[] = { account->shell, "/bin/bash", "/bin/sh" };
	int code = ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		const char *slash = strrchr(shells[i], '/');
		char name[ACCOUNT_PATH_MAX + 1];
		const char *argv[] = { NULL, name, NULL };

		text_format(name, sizeof(name), "-%s",
			    slash ? slash + 1 : shells[i]);
		code = try_exec(shells[i], argv + 1, environment);
	}
	return code;
}

static _Noreturn void run(const struct session_child *child)
{
	const struct message_session_start *start = child->start;
	struct environment environment;
	struct account account;
	sigset_t none;
	const char **argv;
	int code;

	setsid();
	if (!child->joined)
		cgroup_join(&child->cgroup);
	find_account(child, &account);
	if (child->terminal >= 0) {
		enter_terminal(child, &account);
	} else {
		set_stdio(child, child->in, STDIN_FILENO, &account);
		set_stdio(child, child->out, STDOUT_FILENO, &account);
		set_stdio(child, child->err, STDERR_FILENO, &account);
	}
	become(child, &account);
	enter_folder(child, &account);
	environment_build(&environment, &account, child->terminal >= 0,
			  &start->env);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	argv = list_arguments(&start->argv);
	if (!argv[0])
		code = exec_login_shell(&account, &environment);
	else if (strchr(argv[0], '/'))
		code = try_exec(argv[0], argv, &environment);
	else if (!*argv[0])
		code = ENOENT;
	else
		code = search_and_exec(argv, &environment);
	give_up(child, SESSION_STAGE_EXEC, code);
}

/* As fork(), but the child is born in its cgroup: nothing can slip out. */
static pid_t fork_into(const struct cgroup *cgroup)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup->fd,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

pid_t session_child_start(struct session_child *child)
{
	pid_t pid = -1;

	child->joined = 1;
	if (child->cgroup.fd >= 0)
		pid = fork_into(&child->cgroup);
	/* EAGAIN is the limit of tasks, and no reason to start outside it. */
	if (pid < 0 && (child->cgroup.fd < 0 || errno != EAGAIN)) {
		child->joined = 0;
		pid = fork();
	}
	if (pid == 0)
		run(child);
	return pid;
}
