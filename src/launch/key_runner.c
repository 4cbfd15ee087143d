/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_runner.c - runs the commands that tell secrets
 */
#include "launch/key_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/secret.h"
#include "ipc/packet.h"
#include "state/secret_store.h"

#define ENV_MAX 64
#define SHELL "/bin/sh"
#define FD 3

AUTO_DEFINE(json, json_t *, json_decref)

/* The command of a secret; "" when it has none. Caller owns *store. */
static const char *command_of(const json_t *settings, const json_t *question,
			      json_t **store)
{
	const char *path =
		json_string_value(json_object_get(settings, "store"));
	const char *scope =
		json_string_value(json_object_get(question, "scope"));
	const char *name = json_string_value(json_object_get(question, "name"));
	const char *own = json_string_value(json_object_get(settings, "scope"));
	const char *command;
	AUTO_CLOSE int folder =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*store = NULL;
	/* Another sandbox's are none of its business. */
	if (folder < 0 || !scope || !name ||
	    (strcmp(scope, own) != 0 && strcmp(scope, SECRET_STORE_ALL) != 0))
		return "";
	*store = secret_store_load(folder, scope, NULL);
	command = json_string_value(
		json_object_get(secret_store_find(*store, name), "command"));
	return command ? command : "";
}

static json_t *run_command(const json_t *settings, const char *command)
{
	AUTO_BUFFER struct buffer out =
		BUFFER_INIT(SECRET_STORE_VALUE_MAX + 64);
	const char *argv[] = { "sh", "-c", command, NULL };
	const char *env[ENV_MAX + 1] = { NULL };
	const struct child_spec spec = { .path = SHELL,
					 .argv = argv,
					 .env = env,
					 .flags = CHILD_NEW_SESSION |
						  CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO };
	json_t *list = json_object_get(settings, "env"), *one, *value = NULL;
	size_t i, len;

	json_array_foreach(list, i, one)
	{
		if (i < ENV_MAX)
			env[i] = json_string_value(one);
	}
	/* What it says on stderr may be part of a secret: nobody is told. */
	if (child_run(&spec, &out, NULL) == 0) {
		len = out.len;
		if (len && secret_store_check_value((const char *)out.data,
						    &len, NULL) == 0)
			value = json_stringn((const char *)out.data, len);
	}
	secret_wipe(out.data, out.len);
	return value;
}

static void answer(const json_t *settings, const json_t *question)
{
	json_int_t id = json_integer_value(json_object_get(question, "id"));
	AUTO(json) json_t *store = NULL;
	const char *command = command_of(settings, question, &store);
	json_t *value = *command ? run_command(settings, command) : NULL;

	if (value)
		packet_send(FD,
			    json_pack("{s:I, s:o}", "id", id, "value", value),
			    NULL, 0, NULL);
	else
		packet_send(
			FD,
			json_pack("{s:I, s:s}", "id", id, "error", "it failed"),
			NULL, 0, NULL);
}

/* A process for each, so that a slow one holds up nobody. */
static void on_question(const json_t *settings, const json_t *question)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_DFL);
	if (getppid() != parent)
		_exit(1);
	/* Its shell dies with us; bawn-keys counts the time too. */
	alarm(KEY_RUNNER_LIMIT_S);
	answer(settings, question);
	_exit(0);
}

static void run(const json_t *settings, int fd)
{
	struct packet packet;

	log_identity("bawn-launch keys", NULL);
	prctl(PR_SET_NAME, "bawn-commands");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (dup2(fd, FD) < 0 || close_range(FD + 1, ~0U, 0) < 0 ||
	    fcntl(FD, F_SETFD, FD_CLOEXEC) < 0)
		_exit(1);
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct pollfd one = { .fd = FD, .events = POLLIN };
		int got = poll(&one, 1, -1) < 0 && errno != EINTR
				  ? -1
				  : packet_receive(FD, &packet, NULL);

		if (got < 0)
			break;
		if (got == 0)
			continue;
		on_question(settings, packet.json);
		packet_release(&packet);
	}
	_exit(0);
}

int key_runner_start(const json_t *settings, struct error *err)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (packet_pair(ends, err) < 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return error_set(err, errno, "commands of secrets");
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		run(settings, ends[1]);
	}
	close(ends[1]);
	return ends[0];
}
