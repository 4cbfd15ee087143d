/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_answer.c - is it Docker that answers on a Unix socket?
 */
#include "wire/docker_answer.h"

#include <stdint.h>

#include "lib/tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static enum docker_answer read_text(const char *text)
{
	return docker_answer_read(text, strlen(text));
}

static void docker_and_podman_are_known_by_their_headers(void)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nCache-Control: "
		"no-cache\r\nDocker-Experimental: false\r\nOstype: linux\r\n"
		"Server: Docker/20.10.24+dfsg1 (linux)\r\n\r\nOK",
		"HTTP/1.1 200 OK\r\nServer: Docker/20.10.24 (linux)\r\n\r\nOK",
		"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nBuildkit-Version: \r\n"
		"Libpod-Api-Version: 4.3.1\r\nServer: Libpod/4.3.1 (linux)\r\n"
		"\r\nOK",
		"HTTP/1.1 500 Internal\r\nserver:Libpod/4.3.1\r\n\r\n",
		"HTTP/1.0 400 Bad\nDATE: x\nAPI-VERSION: 1.24\n",
	};

	for (size_t i = 0; i < COUNT(answers); i++) {
		size_t len = strlen(answers[i]), at = 0;

		CHECK(read_text(answers[i]) == DOCKER_ANSWER_DOCKER);
		/* In pieces it is never taken for something else. */
		while (at < len &&
		       docker_answer_read(answers[i], at) == DOCKER_ANSWER_MORE)
			at++;
		CHECK(docker_answer_read(answers[i], at) ==
		      DOCKER_ANSWER_DOCKER);
	}
}

static void others_are_others(void)
{
	static const char *const answers[] = {
		"HTTP/1.1 404 Not Found\r\nServer: nginx\r\n\r\nApi-Version: "
		"1\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		"-ERR unknown command 'GET'\r\n",
		"E",
		"\n",
		"SSH-2.0-x\r\n",
	};
	static const uint8_t mysql[] = { 0x4a, 0, 0, 0, 0x0a };

	for (size_t i = 0; i < COUNT(answers); i++)
		CHECK(read_text(answers[i]) == DOCKER_ANSWER_OTHER);
	CHECK(docker_answer_read(mysql, sizeof(mysql)) == DOCKER_ANSWER_OTHER);
}

static void what_has_not_ended_needs_more_up_to_a_bound(void)
{
	static char head[DOCKER_ANSWER_MAX] = "HTTP/1.1 200 OK\r\nX: ";

	CHECK(docker_answer_read("", 0) == DOCKER_ANSWER_MORE);
	CHECK(read_text("HT") == DOCKER_ANSWER_MORE);
	CHECK(read_text("HTTP/1.1 200 OK\r\nApi-Version: 1.4") ==
	      DOCKER_ANSWER_MORE);
	memset(head + strlen(head), 'x', sizeof(head) - strlen(head));
	CHECK(docker_answer_read(head, sizeof(head) - 1) == DOCKER_ANSWER_MORE);
	CHECK(docker_answer_read(head, sizeof(head)) == DOCKER_ANSWER_DOCKER);
}

int main(void)
{
	RUN(docker_and_podman_are_known_by_their_headers);
	RUN(others_are_others);
	RUN(what_has_not_ended_needs_more_up_to_a_bound);
	return DONE();
}
