/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_runner.c - runs the user's program, once for each question
 *
 * A process for each question waits for its program, so that a slow one holds
 * up nobody. After its time it is killed, with all of its session.
 */
#include "launch/hook_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "ipc/packet.h"

#define ENV_MAX 64
#define OUTPUT_MAX 4096

struct program {
	const char *path;
	const char *argv[2];
	const char *env[ENV_MAX + 1];
};

/* False when the program has ended and nothing is left, or the time is over. */
static bool wait_for(int fd, int pidfd, uint64_t end_ms)
{
	struct pollfd both[] = { { .fd = fd, .events = POLLIN },
				 { .fd = pidfd, .events = POLLIN } };
	uint64_t now = loop_now_ms();

	if (now >= end_ms)
		return false;
	if (poll(both, ARRAY_SIZE(both), (int)(end_ms - now)) < 0)
		return errno == EINTR;
	return both[0].revents || !both[1].revents;
}

/* What is too long is read on: it must not get EPIPE for that. */
static void read_answer(int fd, int pidfd, uint64_t end_ms, struct buffer *out)
{
	char bytes[512];
	ssize_t n;

	while (wait_for(fd, pidfd, end_ms)) {
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return;
		(void)buffer_append(out, bytes, (size_t)n);
	}
}

/* False: it was killed, or its code is not 0. */
static bool ended_well(struct child *child, uint64_t end_ms)
{
	int status = 0;

	while (wait_for(-1, child->pidfd, end_ms))
		;
	/* After its time all of its session; of one that ended nothing. */
	if (loop_now_ms() >= end_ms)
		kill(-child->pid, SIGKILL);
	if (child_wait(child, &status, NULL) < 0)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void put_question(int fd, const json_t *question)
{
	AUTO_FREE char *text = json_dumps(question, JSON_COMPACT);

	/* It fits the pipe. One that does not read it answers all the same. */
	if (text && write(fd, text, strlen(text)) > 0)
		(void)!write(fd, "\n", 1);
}

/* The word of one program; "" when it has none. */
static void run_once(const struct program *program, const json_t *question,
		     char word[HOOK_WORD_SIZE])
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	uint64_t end_ms = loop_now_ms() + HOOK_LIMIT_MS;
	int in[2], answer[2];
	struct error err = { 0 };
	struct child child;

	word[0] = '\0';
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		return;
	const struct child_fd fds[] = { { in[0], 0 }, { answer[1], 1 } };
	const struct child_spec spec = { .path = program->path,
					 .argv = program->argv,
					 .env = program->env,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_NEW_SESSION |
						  CHILD_DIE_WITH_US |
						  CHILD_NULL_STDIO };
	if (child_spawn(&spec, &child, &err) < 0) {
		log_warn("hook: %s", err.text);
		return;
	}
	close(in[0]);
	close(answer[1]);
	put_question(in[1], question);
	close(in[1]);
	fcntl(answer[0], F_SETFL, O_NONBLOCK);
	read_answer(answer[0], child.pidfd, end_ms, &out);
	if (ended_well(&child, end_ms))
		hook_first_word(out.data, out.len, word);
}

static void reply(int fd, json_int_t id, const char *word)
{
	packet_send(fd, json_pack("{s:I, s:s}", "id", id, "word", word), NULL,
		    0, NULL);
}

static void on_question(const struct program *program, int fd,
			const struct packet *packet)
{
	json_int_t id = json_integer_value(json_object_get(packet->json, "id"));
	const json_t *question = json_object_get(packet->json, "question");
	char word[HOOK_WORD_SIZE];
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		reply(fd, id, "");
	if (pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_DFL);
	if (getppid() != parent)
		_exit(1);
	run_once(program, question, word);
	reply(fd, id, word);
	_exit(0);
}

static void fill(struct program *program, const json_t *settings)
{
	json_t *list = json_object_get(settings, "env"), *one;
	size_t i;

	program->path = json_string_value(json_object_get(settings, "path"));
	program->argv[0] = program->path;
	json_array_foreach(list, i, one)
	{
		if (i < ENV_MAX)
			program->env[i] = json_string_value(one);
	}
}

void hook_run(const json_t *settings, int fd)
{
	static struct program program;
	struct packet packet;

	log_identity("bawn-launch hook", NULL);
	/* Nothing that the launcher holds. */
	if (dup2(fd, 3) < 0 || close_range(4, ~0U, 0) < 0 ||
	    fcntl(3, F_SETFD, FD_CLOEXEC) < 0)
		_exit(1);
	fill(&program, settings);
	/* The kernel takes those that wait for a program. */
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct pollfd one = { .fd = 3, .events = POLLIN };
		int got = poll(&one, 1, -1) < 0 && errno != EINTR
				  ? -1
				  : packet_receive(3, &packet, NULL);

		if (got < 0)
			break;
		if (got == 0)
			continue;
		on_question(&program, 3, &packet);
		packet_release(&packet);
	}
	_exit(0);
}
