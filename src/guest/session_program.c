/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_program.c - a forked child becomes the program of its session
 */
#include "guest/session_program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/accounts.h"
#include "guest/environment.h"
#include "guest/session_child.h"

static _Noreturn void give_up(enum session_stage stage, int code)
{
	struct session_report report = { stage, (uint32_t)code };
	ssize_t ignored =
		write(SESSION_PROGRAM_REPORT_FD, &report, sizeof(report));

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

static void find_account(const char *user, struct account *account)
{
	struct account_files files = {
		.passwd = read_accounts("/etc/passwd"),
		.group = read_accounts("/etc/group"),
	};

	if (account_resolve(&files, user, account))
		give_up(SESSION_STAGE_USER, ENOENT);
}

static void enter_terminal(int number, const struct account *account)
{
	char path[32];
	int slave;

	text_format(path, sizeof(path), "/dev/pts/%d", number);
	slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0))
		give_up(SESSION_STAGE_OTHER, errno);
	if (account->uid && fchown(slave, account->uid, (gid_t)-1))
		give_up(SESSION_STAGE_OTHER, errno);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(slave, fd);
}

static void drop_pipes(unsigned mask)
{
	AUTO_CLOSE int null = -1;

	if (!mask)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if ((mask & 1u << fd) && dup2(null, fd) < 0)
			give_up(SESSION_STAGE_OTHER, errno);
	}
}

/* Pipes belong to PID 1; /dev/stdout must open for the user. */
static void own_pipes(unsigned mask, const struct account *account)
{
	for (int fd = STDIN_FILENO; account->uid && fd <= STDERR_FILENO; fd++) {
		if ((mask & 1u << fd) && fchown(fd, account->uid, account->gid))
			give_up(SESSION_STAGE_OTHER, errno);
	}
}

static void set_stdio(const struct message_session_start *start,
		      const struct account *account)
{
	unsigned wanted = 0;

	if ((start->flags & SESSION_STDIN) && start->stdio_stream)
		wanted |= 1u << STDIN_FILENO;
	if (!(start->flags & SESSION_NO_OUTPUT)) {
		if (start->stdio_stream)
			wanted |= 1u << STDOUT_FILENO;
		if (start->stderr_stream)
			wanted |= 1u << STDERR_FILENO;
	}
	drop_pipes(~wanted);
	own_pipes(wanted, account);
	/* No stream of its own: with the output. */
	if (!(wanted & 1u << STDERR_FILENO))
		dup2(STDOUT_FILENO, STDERR_FILENO);
}

static void become(const struct account *account)
{
	if (setgroups(account->group_count, account->groups) ||
	    setresgid(account->gid, account->gid, account->gid) ||
	    setresuid(account->uid, account->uid, account->uid))
		give_up(SESSION_STAGE_USER, errno);
}

/* As root still. What is in the way is told by who enters it. */
static void make_folder(const char *folder)
{
	struct error err;

	if (*folder == '/')
		(void)fileio_mkdirs(folder, 0755, &err);
}

static void enter_folder(const char *folder, const struct account *account)
{
	if (*folder) {
		if (chdir(folder))
			give_up(SESSION_STAGE_FOLDER, errno);
	} else if (chdir(account->home) && chdir("/")) {
		give_up(SESSION_STAGE_FOLDER, errno);
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

_Noreturn void session_program_run(const struct message_session_start *start,
				   int terminal)
{
	struct environment environment;
	struct account account;
	const char **argv;
	int code;

	find_account(start->user, &account);
	if (terminal >= 0)
		enter_terminal(terminal, &account);
	else
		set_stdio(start, &account);
	if (start->flags & SESSION_MAKE_FOLDER)
		make_folder(start->folder);
	become(&account);
	enter_folder(start->folder, &account);
	environment_build(&environment, &account, terminal >= 0, &start->env);
	argv = list_arguments(&start->argv);
	if (!argv[0])
		code = exec_login_shell(&account, &environment);
	else if (strchr(argv[0], '/'))
		code = try_exec(argv[0], argv, &environment);
	else if (!*argv[0])
		code = ENOENT;
	else
		code = search_and_exec(argv, &environment);
	give_up(SESSION_STAGE_EXEC, code);
}
