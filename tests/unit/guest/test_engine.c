/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine.c - who may use the engine, how it is run and who answers for it
 *
 * Engines of these tests are scripts; python3, which all tests need, takes the
 * socket as dockerd does.
 */
#include "guest/engine.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/engine_keeper.h"
#include "lib/tap.h"

#define SECONDS 60

static char folder[] = "/tmp/test_engine.XXXXXX";
static char socket_path[64], log_path[64], program[64];
static struct error err;

static gid_t group_of(const char *passwd, const char *group)
{
	struct account_files files = { slice_of(passwd), slice_of(group) };

	return engine_group(&files);
}

static void the_agent_reaches_it_by_the_group_that_it_has(void)
{
	const char *agent = "agent:x:1000:1000::/home/agent:/bin/sh\n";

	CHECK(group_of(agent, "docker:x:102:root,agent\n") == 102);
	CHECK(group_of(agent, "docker:x:102:\n") == 1000);
	CHECK(group_of(agent, "docker:x:none:agent\n") == 1000);
	CHECK(group_of("agent:x:1000:102::/:/bin/sh\n", "docker:x:102:\n") ==
	      102);
	CHECK(group_of(agent, "") == 1000);
	CHECK(group_of("", "docker:x:102:agent\n") == 1000);
}

static void it_is_found_where_programs_are(void)
{
	char path[PATH_MAX];

	CHECK(engine_find(folder) == NULL);
	text_format(path, sizeof(path), "%s/usr/sbin", folder);
	CHECK(!fileio_mkdirs(path, 0755, &err));
	text_format(path, sizeof(path), "%s/usr/sbin/dockerd", folder);
	CHECK(!fileio_replace(AT_FDCWD, path, "", 0, 0644, 0, &err));
	CHECK(engine_find(folder) == NULL);
	CHECK(!chmod(path, 0755));
	CHECK(!strcmp(engine_find(folder), "/usr/sbin/dockerd"));
}

static int listen_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	unlink(socket_path);
	text_copy(address.sun_path, sizeof(address.sun_path), socket_path);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	CHECK(!listen(fd, 8));
	return fd;
}

static int ask(void)
{
	static const char request[] = "GET /_ping HTTP/1.1\r\n\r\n";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = SECONDS };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	text_copy(address.sun_path, sizeof(address.sun_path), socket_path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	CHECK(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
	CHECK(write(fd, request, strlen(request)) == (ssize_t)strlen(request));
	return fd;
}

static bool answers(int client, const char *text)
{
	AUTO_BUFFER struct buffer got = BUFFER_INIT(4096);

	return fileio_read_fd(client, &got, &err) == 0 && got.len &&
	       memmem(got.data, got.len, text, strlen(text));
}

static bool log_has(const char *text)
{
	AUTO_BUFFER struct buffer got = BUFFER_INIT(1 << 20);

	return fileio_read(AT_FDCWD, log_path, &got, &err) == 0 && got.len &&
	       memmem(got.data, got.len, text, strlen(text));
}

static pid_t keep(const char *script, int listener)
{
	struct engine_keeper keeper = { .listener = listener,
					.program = program,
					.log = log_path,
					.answer_ms = 200 };
	pid_t pid;

	CHECK(!fileio_replace(AT_FDCWD, program, script, strlen(script), 0755,
			      0, &err));
	pid = fork();
	if (pid == 0) {
		alarm(SECONDS);
		engine_keeper_run(&keeper);
	}
	return pid;
}

static void the_first_client_waits_in_the_queue(void)
{
	AUTO_CLOSE int listener = listen_there();
	AUTO_CLOSE int client = ask();
	int status;
	pid_t pid = keep("#!/usr/bin/python3\n"
			 "import os, socket, sys\n"
			 "assert os.environ['LISTEN_PID'] == str(os.getpid())\n"
			 "assert os.environ['LISTEN_FDS'] == '1'\n"
			 "assert os.listdir('/proc/self/fd')[:4] == "
			 "['0', '1', '2', '3']\n"
			 "assert sys.argv[1:] == ['-H', 'fd://']\n"
			 "print('up', flush=True)\n"
			 "one = socket.socket(fileno=3)\n"
			 "one.setblocking(True)\n"
			 "client = one.accept()[0]\n"
			 "client.recv(100)\n"
			 "client.sendall(b'pong')\n",
			 listener);

	CHECK(answers(client, "pong"));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(log_has("up\n"));
}

static void one_that_cannot_start_is_spoken_for(void)
{
	AUTO_CLOSE int listener = listen_there();
	AUTO_CLOSE int client = ask();
	pid_t pid = keep("#!/bin/sh\necho no disk >&2\nexit 1\n", listener);
	int status;

	CHECK(answers(client, "503 Service Unavailable"));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(log_has("no disk\n"));
}

static void one_that_ends_by_itself_leaves_the_queue(void)
{
	AUTO_CLOSE int listener = listen_there();
	AUTO_CLOSE int client = ask(), taken = -1;
	pid_t pid = keep("#!/bin/sh\nexit 0\n", listener);
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	taken = accept(listener, NULL, NULL);
	CHECK(taken >= 0);
}

int main(void)
{
	CHECK(mkdtemp(folder) != NULL);
	text_format(socket_path, sizeof(socket_path), "%s/sock", folder);
	text_format(log_path, sizeof(log_path), "%s/log", folder);
	text_format(program, sizeof(program), "%s/program", folder);
	RUN(the_agent_reaches_it_by_the_group_that_it_has);
	RUN(it_is_found_where_programs_are);
	RUN(the_first_client_waits_in_the_queue);
	RUN(one_that_cannot_start_is_spoken_for);
	RUN(one_that_ends_by_itself_leaves_the_queue);
	(void)fileio_remove_tree(AT_FDCWD, folder, &err);
	return DONE();
}
