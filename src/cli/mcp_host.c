/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_host.c - MCP servers of the host for a sandbox, as long as a command runs
 */
#include "cli/mcp_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "ipc/control.h"

#define PUMPS_MAX 16
#define LOG_BYTES_MAX (16 << 20)
#define TICK_MS 1000
#define LOCK_FILE "mcp.lock"

AUTO_DEFINE(json, json_t *, json_decref)

struct server {
	char name[MCP_NAME_MAX + 1];
	const char *command;
	int listener;
};

struct serving {
	struct server servers[MCP_HOST_SOCKETS];
	size_t count;
	const json_t *words; /* borrowed: NAME=CMD, checked */
	int folder;          /* the sandbox's, borrowed */
	const char *start;
	unsigned pumps;
};

static int open_log(int folder)
{
	struct stat st;
	int fd;

	if (fstatat(folder, MCP_HOST_LOG, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > LOG_BYTES_MAX)
		(void)renameat(folder, MCP_HOST_LOG, folder, MCP_HOST_LOG_OLD);
	fd = openat(folder, MCP_HOST_LOG,
		    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd;
}

static void take_one(struct serving *serving, const struct server *server)
{
	int guest = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
	struct error err = { 0 };
	pid_t pid;

	if (guest < 0)
		return;
	if (serving->pumps >= PUMPS_MAX ||
	    control_check_peer(guest, geteuid(), &err) < 0) {
		close(guest);
		return;
	}
	pid = fork();
	if (pid == 0) {
		const struct mcp_pump pump = {
			.name = server->name,
			.command = server->command,
			.folder = serving->start,
			.guest = guest,
			.log = open_log(serving->folder),
		};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		mcp_pump_serve(&pump);
	}
	serving->pumps += pid > 0;
	close(guest);
}

/* The process that listens. It is killed by who started it. */
static _Noreturn void serve(struct serving *serving)
{
	struct pollfd polls[MCP_HOST_SOCKETS];

	for (;;) {
		for (size_t i = 0; i < serving->count; i++)
			polls[i] =
				(struct pollfd){ serving->servers[i].listener,
						 POLLIN, 0 };
		(void)poll(polls, serving->count, TICK_MS);
		while (serving->pumps && waitpid(-1, NULL, WNOHANG) > 0)
			serving->pumps--;
		for (size_t i = 0; i < serving->count; i++)
			if (polls[i].revents & POLLIN)
				take_one(serving, &serving->servers[i]);
	}
}

/* Nothing of the command's is left but what it serves with. */
static _Noreturn void become_server(struct serving *serving, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* Ctrl-C is for the command, which then ends us or goes on */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0)
		_exit(1);
	dup2(null, 0);
	dup2(null, 1);
	serve(serving);
}

static int listen_all(struct serving *serving, struct error *err)
{
	char file[MCP_NAME_MAX + 16];
	const json_t *word;
	size_t i;

	json_array_foreach(serving->words, i, word)
	{
		struct server *server = &serving->servers[i];

		if (i >= MCP_HOST_SOCKETS)
			break;
		server->command =
			mcp_line_command(json_string_value(word), server->name);
		mcp_host_file(server->name, file);
		server->listener = control_listen(serving->folder, file, err);
		if (server->listener < 0)
			return error_prefix(err, "--mcp %s", server->name);
		serving->count++;
	}
	return 0;
}

/* Another command serves them: its end is waited for. */
static _Noreturn void become_next(struct serving *serving, pid_t parent)
{
	struct error err = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent ||
	    fileio_lock(serving->folder, LOCK_FILE, FILEIO_LOCK_WAIT, &err) <
		    0 ||
	    listen_all(serving, &err) < 0)
		_exit(1);
	become_server(serving, parent);
}

static int start(struct mcp_host *host, struct serving *serving, bool given,
		 struct error *err)
{
	AUTO_CLOSE int lock =
		fileio_lock(serving->folder, LOCK_FILE, FILEIO_LOCK_TRY, err);
	pid_t parent = getpid();

	if (lock < 0 && err->code != EWOULDBLOCK)
		return -1;
	/* Who names servers now means these. */
	if ((lock >= 0 || given) && listen_all(serving, err) < 0)
		return -1;
	fflush(NULL);
	host->pid = fork();
	if (host->pid == 0) {
		if (!serving->count)
			become_next(serving, parent);
		become_server(serving, parent);
	}
	return host->pid < 0 ? error_set(err, errno, "--mcp") : 0;
}

int mcp_host_start(struct mcp_host *host, const struct sandbox *sandbox,
		   const struct options *options, struct error *err)
{
	const char *home = getenv("HOME");
	AUTO(json) json_t *given = mcp_host_given(options);
	AUTO(json)
	json_t *kept = given ? NULL : mcp_host_kept(sandbox->folder);
	/* not the workspace: what starts there may run what a guest put there
	 */
	struct serving serving = { .folder = sandbox->folder,
				   .words = given ? given : kept,
				   .start = home && *home ? home : "/" };
	int result;

	host->pid = 0;
	if (!serving.words)
		return 0;
	result = start(host, &serving, given != NULL, err);
	for (size_t i = 0; i < serving.count; i++)
		close(serving.servers[i].listener);
	return result;
}

void mcp_host_stop(struct mcp_host *host)
{
	if (host->pid <= 0)
		return;
	kill(host->pid, SIGKILL);
	while (waitpid(host->pid, NULL, 0) < 0 && errno == EINTR)
		;
	host->pid = 0;
}
