/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_net.c - stands in for bawn-net; the test drives it through the port
 *
 * What it gets goes to the test as lines on the port: `start JSON`, `packet
 * JSON`, with ` fd` in front of the JSON when a descriptor came along. Lines of
 * the test are done here:
 *   JSON          send that packet to the launcher
 *   end N         exit with that code
 *   say TEXT      a line for the launcher's log
 *   accept        take one connection from the last listener and say "hello"
 *   talk          write "ping" to the last descriptor, pass the answer on
 *   log N         write N bytes to the log
 *   name TEXT     append a line to the names
 *   deaf          read no more packets
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/packet.h"

enum {
	PORT = 3,
	MESSAGE,
	CONTROL,
	NAMES,
	LOG,
};

static int last = -1, log_fd = LOG;
static bool deaf;

static void tell(const char *word, const char *text, bool with_fd)
{
	AUTO_FREE char *line =
		xasprintf("%s%s %s\n", word, with_fd ? " fd" : "", text);

	if (fileio_write_all(PORT, line, strlen(line), NULL) < 0)
		_exit(0);
}

static void tell_message(int fd, const char *word, bool with_fd)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(64u << 20);

	if (fileio_read_fd(fd, &text, NULL) < 0)
		_exit(3);
	tell(word, buffer_str(&text), with_fd);
}

static void on_packet(void)
{
	struct packet packet;
	struct error err = { 0 };
	int got = packet_receive(CONTROL, &packet, &err);
	AUTO_FREE char *text = NULL;

	if (got == 0)
		return;
	if (got < 0)
		_exit(0);
	text = json_dumps(packet.json, JSON_COMPACT);
	if (strcmp(packet_op(&packet), "config") == 0) {
		tell_message(packet.fds[0], "config", false);
	} else {
		tell("packet", text, packet.fd_count > 0);
		if (packet.fd_count && last >= 0)
			close(last);
		if (packet.fd_count)
			last = packet_take_fd(&packet, 0);
	}
	if (strcmp(packet_op(&packet), "log") == 0) {
		log_fd = last;
		last = -1;
	}
	packet_release(&packet);
}

static void accept_one(void)
{
	struct pollfd one = { .fd = last, .events = POLLIN };
	AUTO_CLOSE int fd = -1;

	if (poll(&one, 1, 10000) != 1)
		_exit(4);
	fd = accept4(last, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || write(fd, "hello", 5) != 5)
		_exit(4);
}

static void talk(void)
{
	struct pollfd one = { .fd = last, .events = POLLIN };
	char answer[64] = "";

	if (write(last, "ping", 4) != 4 || poll(&one, 1, 10000) != 1 ||
	    read(last, answer, sizeof(answer) - 1) < 0)
		_exit(5);
	tell("answer", answer, false);
}

static void write_log(const char *count)
{
	static char bytes[65536];
	uint64_t left = 0;

	memset(bytes, 'x', sizeof(bytes));
	if (text_to_u64(count, 0, 1 << 30, &left) < 0)
		_exit(6);
	while (left) {
		size_t n = left < sizeof(bytes) ? left : sizeof(bytes);

		if (fileio_write_all(log_fd, bytes, n, NULL) < 0)
			_exit(6);
		left -= n;
	}
	tell("logged", count, false);
}

static void name(const char *text)
{
	AUTO_FREE char *line = xasprintf("%s\n", text);

	if (fileio_write_all(NAMES, line, strlen(line), NULL) < 0)
		_exit(7);
	tell("named", text, false);
}

static void on_line(char *line)
{
	uint64_t code;

	if (line[0] == '{') {
		json_t *json = json_loads(line, 0, NULL);

		if (packet_send(CONTROL, json, NULL, 0, NULL) < 0)
			_exit(8);
	} else if (text_starts(line, "end ") &&
		   text_to_u64(line + 4, 0, 255, &code) == 0) {
		_exit((int)code);
	} else if (text_starts(line, "say ")) {
		fprintf(stderr, "bawn-net: error: %s\n", line + 4);
	} else if (strcmp(line, "accept") == 0) {
		accept_one();
	} else if (strcmp(line, "talk") == 0) {
		talk();
	} else if (text_starts(line, "log ")) {
		write_log(line + 4);
	} else if (text_starts(line, "name ")) {
		name(line + 5);
	} else if (strcmp(line, "deaf") == 0) {
		deaf = true;
	} else {
		_exit(9);
	}
}

static void on_port(void)
{
	static char lines[65536];
	static size_t len;
	ssize_t n = read(PORT, lines + len, sizeof(lines) - 1 - len);
	char *end;

	/* As bawn-net does when QEMU has gone. */
	if (n <= 0)
		_exit(0);
	len += (size_t)n;
	while ((end = memchr(lines, '\n', len))) {
		size_t used = (size_t)(end - lines) + 1;

		*end = '\0';
		on_line(lines);
		len -= used;
		memmove(lines, lines + used, len);
	}
}

int main(void)
{
	tell_message(MESSAGE, "start", false);
	for (;;) {
		struct pollfd both[] = { { .fd = PORT, .events = POLLIN },
					 { .fd = deaf ? -1 : CONTROL,
					   .events = POLLIN } };

		if (poll(both, 2, -1) < 0)
			return 1;
		if (both[1].revents)
			on_packet();
		if (both[0].revents)
			on_port();
	}
}
