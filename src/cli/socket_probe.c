/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_probe.c - is there a Docker daemon behind a Unix socket?
 */
#include "cli/socket_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "wire/docker_answer.h"

#define PATIENCE_MS 1000
#define READ_BYTES 4096

/* Through /proc: a path may be longer than an address. */
static int connect_path(const char *path)
{
	AUTO_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	text_format(address.sun_path, sizeof(address.sun_path),
		    "/proc/self/fd/%d", place);
	if (place < 0 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return TAKE_FD(fd);
}

static enum docker_answer listen_to(int fd)
{
	AUTO_BUFFER struct buffer in =
		BUFFER_INIT(DOCKER_ANSWER_MAX + READ_BYTES);
	uint64_t end_ms = loop_now_ms() + PATIENCE_MS, now;
	enum docker_answer answer = DOCKER_ANSWER_MORE;

	while (answer == DOCKER_ANSWER_MORE && (now = loop_now_ms()) < end_ms) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		char bytes[READ_BYTES];
		ssize_t n;

		if (poll(&one, 1, (int)(end_ms - now)) < 0 && errno != EINTR)
			break;
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0 || buffer_append(&in, bytes, (size_t)n) < 0)
			break;
		answer = docker_answer_read(in.data, in.len);
	}
	return answer;
}

int socket_probe(const char *path, struct error *err)
{
	AUTO_CLOSE int fd = connect_path(path);

	if (fd < 0)
		return 0;
	if (send(fd, DOCKER_ANSWER_QUESTION, strlen(DOCKER_ANSWER_QUESTION),
		 MSG_NOSIGNAL) < 0 ||
	    listen_to(fd) != DOCKER_ANSWER_DOCKER)
		return 0;
	return error_say(
		err, EACCES,
		"socket %s: a Docker daemon answers there, which is "
		"root on this host (a sandbox has a Docker of its own)",
		path);
}
