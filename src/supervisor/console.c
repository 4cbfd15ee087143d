/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.c - a token bucket in front of a bounded log
 */
#include "supervisor/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"

#define PANIC "Kernel panic - not syncing: "

enum {
	READ_BYTES = 16384,
	BURST_BYTES = 256 * 1024, /* a whole boot with all its messages */
	BYTES_A_SECOND = 8 * 1024,
	REFILL_MS = 250,
	FLOOD_PAUSE_MS = 20, /* the port writes single bytes: collect some */
	DRAIN_ROUNDS = 32,
};

int console_open_log(int folder_fd, struct error *err)
{
	int fd;

	if (renameat(folder_fd, CONSOLE_LOG, folder_fd, CONSOLE_LOG_OLD) < 0 &&
	    errno != ENOENT)
		return error_set(err, errno, CONSOLE_LOG);
	fd = openat(folder_fd, CONSOLE_LOG,
		    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW |
			    O_CLOEXEC,
		    0600);
	if (fd < 0)
		return error_set(err, errno, CONSOLE_LOG);
	return fd;
}

static void rotate(struct console *console)
{
	struct error err;
	int fd = console_open_log(console->folder_fd, &err);

	if (fd < 0) {
		/* Better an emptied log than an endless one. */
		if (ftruncate(console->log_fd, 0) < 0)
			log_limited(LOG_LEVEL_WARN, "%s", err.text);
	} else {
		close(console->log_fd);
		console->log_fd = fd;
	}
	console->log_bytes = 0;
}

static void end_line(struct console *console)
{
	if (!console->line_len)
		return;
	memcpy(console->last_line, console->line, console->line_len);
	console->last_line[console->line_len] = '\0';
	console->line_len = 0;
	if (strstr(console->last_line, PANIC))
		text_copy(console->panic, sizeof(console->panic),
			  strstr(console->last_line, PANIC) + strlen(PANIC));
}

static void note_lines(struct console *console, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			end_line(console);
		else if (console->line_len + 1 < sizeof(console->line) &&
			 bytes[i])
			console->line[console->line_len++] = bytes[i];
	}
}

static void take_bytes(struct console *console, const char *bytes, size_t len)
{
	struct error err;

	note_lines(console, bytes, len);
	if (console->log_bytes + len > CONSOLE_LOG_MAX)
		rotate(console);
	/* A full disk must not end the sandbox. */
	if (fileio_write_all(console->log_fd, bytes, len, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "console.log: %s", err.text);
	console->log_bytes += len;
}

static void refill_tokens(struct console *console)
{
	uint64_t now_ms = loop_now_ms();
	uint64_t more = (now_ms - console->refilled_ms) * BYTES_A_SECOND / 1000;

	console->tokens += more;
	if (console->tokens > BURST_BYTES)
		console->tokens = BURST_BYTES;
	console->refilled_ms = now_ms;
}

static void on_refill(struct timer *timer)
{
	struct console *console = CONTAINER_OF(timer, struct console, refill);

	loop_wait_for(&console->source, EPOLLIN);
}

static void on_console(struct source *source, uint32_t events)
{
	struct console *console = CONTAINER_OF(source, struct console, source);
	char bytes[READ_BYTES];
	size_t want = sizeof(bytes);
	ssize_t got;

	refill_tokens(console);
	if (want > console->tokens)
		want = console->tokens;
	if (want == 0 && !(events & (EPOLLHUP | EPOLLERR))) {
		/* The flood waits in the guest's own serial port. */
		loop_wait_for(source, 0);
		timer_start(console->loop, &console->refill, REFILL_MS);
		return;
	}
	got = read(source->fd, bytes, want ? want : sizeof(bytes));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		loop_del(source);
		return;
	}
	console->tokens -=
		(size_t)got < console->tokens ? (size_t)got : console->tokens;
	take_bytes(console, bytes, (size_t)got);
	if (console->tokens < BURST_BYTES / 2 && source->loop) {
		loop_wait_for(source, 0);
		timer_start(console->loop, &console->refill, FLOOD_PAUSE_MS);
	}
}

void console_drain(struct console *console)
{
	for (int i = 0; i < DRAIN_ROUNDS && console->source.loop; i++) {
		console->tokens = BURST_BYTES;
		on_console(&console->source, EPOLLIN);
	}
}

int console_open(struct console *console, struct loop *loop, int fd, int log_fd,
		 int folder_fd, struct error *err)
{
	*console = (struct console){
		.source = { .name = "guest console",
			    .fd = fd,
			    .events = EPOLLIN,
			    .on_event = on_console },
		.refill = { .name = "console refill", .on_fire = on_refill },
		.loop = loop,
		.folder_fd = folder_fd,
		.log_fd = log_fd,
		.tokens = BURST_BYTES,
		.refilled_ms = loop_now_ms(),
	};
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "guest console");
	return loop_add(loop, &console->source, err);
}

void console_close(struct console *console)
{
	if (!console->loop)
		return;
	loop_del(&console->source);
	timer_stop(&console->refill);
	close(console->source.fd);
	close(console->log_fd);
	console->loop = NULL;
}

void console_last_line(const struct console *console, char *text, size_t size)
{
	const char *line = console->last_line;
	size_t len = strlen(line);

	if (console->line_len) {
		line = console->line;
		len = console->line_len;
	}
	text_printable(line, len, text, size);
}

void console_panic(const struct console *console, char *text, size_t size)
{
	text_printable(console->panic, strlen(console->panic), text, size);
}
