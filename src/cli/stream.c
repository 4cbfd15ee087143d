/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - a tool of ours in the guest, with bytes in and out
 */
#include "cli/stream.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/progress_view.h"
#include "cli/store.h"

#define TOOL "/proc/1/exe"
#define ARGS_MAX 16
#define ERRORS_MAX (64u * 1024)

static volatile sig_atomic_t got_signal;

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void on_signal(int number)
{
	got_signal = number;
}

int stream_signal(void)
{
	return got_signal;
}

/* They arrive only while we wait; see wait_ready(). */
static void hold_signals(struct stream *stream)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction *old = &stream->old_actions[i];

		sigaddset(&set, signals[i]);
		if (sigaction(signals[i], NULL, old) == 0 &&
		    old->sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &set, &stream->old_mask);
}

static int open_session(struct stream *stream, struct sandbox *sandbox,
			const char *const *args, struct error *err)
{
	const char *argv[ARGS_MAX + 2] = { TOOL };
	struct client_request request = { .argv = argv,
					  .folder = "/",
					  .user = "root",
					  .forward_stdin = true,
					  .lock = &stream->start.lock,
					  .turn = &stream->start.turn };

	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[i + 1] = args[i];
	for (;;) {
		if (start_sandbox(sandbox, NULL, START_NO_WAIT, &stream->start,
				  err) < 0)
			return -1;
		if (client_open(&stream->start.control, &request, NULL, err) ==
		    0)
			return 0;
		if (!start_was_ending(sandbox, &stream->start, err))
			return -1;
		start_release(&stream->start);
		stream->start = START_INIT;
	}
}

int stream_open(struct stream *stream, struct sandbox *sandbox,
		const char *const *args, struct error *err)
{
	if (open_session(stream, sandbox, args, err) < 0)
		return -1;
	relay_frames_init(&stream->frames, &stream->start.control);
	buffer_init(&stream->errors, ERRORS_MAX);
	hold_signals(stream);
	stream->open = true;
	return 0;
}

void stream_close(struct stream *stream)
{
	if (stream->open) {
		relay_frames_release(&stream->frames);
		buffer_release(&stream->errors);
		/* one that waits is still ours */
		sigprocmask(SIG_SETMASK, &stream->old_mask, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
			sigaction(signals[i], &stream->old_actions[i], NULL);
	}
	stream->open = false;
	start_release(&stream->start);
	stream->start = START_INIT;
}

/* Those that came: ppoll() lets none in when something is ready at once. */
static int check_signals(const struct stream *stream, struct error *err)
{
	sigset_t held;

	sigprocmask(SIG_SETMASK, &stream->old_mask, &held);
	sigprocmask(SIG_SETMASK, &held, NULL);
	return got_signal ? error_set(err, EINTR, "copy") : 0;
}

/* Waits for the connection, or for extra when it is not -1. */
static int wait_ready(struct stream *stream, int extra, int timeout_ms,
		      struct error *err)
{
	struct timespec limit = { .tv_nsec = 0 };
	struct pollfd polls[2] = {
		{ stream->start.control.fd, POLLIN, 0 },
		{ extra, POLLIN, 0 },
	};

	if (relay_frames_waiting(&stream->frames))
		polls[0].events |= POLLOUT;
	if (stream->exited)
		polls[0].fd = -1;
	if (ppoll(polls, 2, timeout_ms < 0 ? NULL : &limit, &stream->old_mask) <
		    0 &&
	    errno != EINTR)
		return error_set(err, errno, "poll");
	if (check_signals(stream, err) < 0)
		return -1;
	if (polls[0].revents & POLLOUT)
		relay_frames_flush(&stream->frames);
	if (polls[0].revents & (POLLIN | POLLHUP | POLLERR) &&
	    relay_frames_receive(&stream->frames, err) < 0)
		return -1;
	return polls[1].revents != 0;
}

/* Frames that are here: 1 and output, 0 when there is none. */
static int take_frames(struct stream *stream, const uint8_t **bytes,
		       size_t *len, struct error *err)
{
	struct relay_frame frame;
	int got;

	while ((got = relay_frames_next(&stream->frames, &frame, err)) > 0) {
		switch (frame.type) {
		case SESSION_FRAME_STDOUT:
			*bytes = frame.bytes;
			*len = frame.len;
			return 1;
		case SESSION_FRAME_STDERR:
			/* a tool that says too much is cut short */
			(void)buffer_append(&stream->errors, frame.bytes,
					    frame.len);
			break;
		case SESSION_FRAME_EXIT:
			stream->exited = true;
			stream->exit_code = frame.exit_code;
			return 0;
		default:
			break;
		}
	}
	return got;
}

int stream_read(struct stream *stream, const uint8_t **bytes, size_t *len,
		struct error *err)
{
	for (;;) {
		int got = stream->exited ? 0
					 : take_frames(stream, bytes, len, err);

		if (got || stream->exited)
			return got;
		if (wait_ready(stream, -1, -1, err) < 0)
			return -1;
	}
}

/* While we send, the tool has nothing to say but errors and its end. */
static int take_errors(struct stream *stream, struct error *err)
{
	const uint8_t *bytes;
	size_t len;
	int got;

	while ((got = take_frames(stream, &bytes, &len, err)) > 0)
		;
	return got;
}

int stream_write(struct stream *stream, const void *bytes, size_t len,
		 struct error *err)
{
	const uint8_t *at = bytes;
	int timeout_ms = 0;

	while (len) {
		size_t room;

		if (wait_ready(stream, -1, timeout_ms, err) < 0 ||
		    take_errors(stream, err) < 0)
			return -1;
		if (stream->exited)
			return error_set(err, EPIPE, "the sandbox");
		room = relay_frames_stdin_room(&stream->frames);
		if (room > len)
			room = len;
		if (room)
			relay_frames_send(&stream->frames, SESSION_FRAME_STDIN,
					  at, room);
		at += room;
		len -= room;
		timeout_ms = room ? 0 : -1;
	}
	return 0;
}

void stream_end_input(struct stream *stream)
{
	if (!stream->ended_input && !stream->exited)
		relay_frames_send(&stream->frames, SESSION_FRAME_STDIN, NULL,
				  0);
	stream->ended_input = true;
}

int stream_wait_for(struct stream *stream, int fd, struct error *err)
{
	for (;;) {
		int got = wait_ready(stream, fd, -1, err);

		if (got)
			return got < 0 ? -1 : 0;
		if (take_errors(stream, err) < 0)
			return -1;
		if (stream->exited)
			return error_set(err, EPIPE, "the sandbox");
	}
}

int stream_pass_on(struct stream *stream, int fd, const uint8_t *bytes,
		   size_t len, struct error *err)
{
	struct pollfd poll = { fd, POLLOUT, 0 };

	while (len) {
		/* A pipe that is ready takes this much without a wait. */
		size_t part = len < PIPE_BUF ? len : PIPE_BUF;
		ssize_t put;

		poll.revents = 0;
		if (ppoll(&poll, 1, NULL, &stream->old_mask) < 0 &&
		    errno != EINTR)
			return error_set(err, errno, "poll");
		if (check_signals(stream, err) < 0)
			return -1;
		if (!poll.revents)
			continue;
		put = write(fd, bytes, part);
		if (put < 0)
			return error_set(err, errno, "write");
		bytes += put;
		len -= (size_t)put;
	}
	return 0;
}

/* Each line but the last of a failure, which goes to last. */
static void print_errors(struct stream *stream, char *last, size_t size)
{
	const char *at = (const char *)stream->errors.data;
	size_t left = stream->errors.len;

	last[0] = '\0';
	while (left) {
		const char *end = memchr(at, '\n', left);
		size_t len = end ? (size_t)(end - at) : left;
		bool is_last = len + 1 >= left;

		text_printable(at, len, last, size);
		if (!is_last || !stream->exit_code) {
			progress_view_clear();
			fprintf(stderr, "bawn: %s\n", last);
		}
		at += len + (end ? 1 : 0);
		left -= len + (end ? 1 : 0);
	}
}

int stream_finish(struct stream *stream, struct error *err)
{
	const uint8_t *bytes;
	char last[400];
	size_t len;
	int got;

	stream_end_input(stream);
	while ((got = stream_read(stream, &bytes, &len, err)) > 0)
		;
	if (got < 0)
		return -1;
	print_errors(stream, last, sizeof(last));
	if (!stream->exit_code)
		return 0;
	return error_set(err, 0, "in the sandbox: %s",
			 last[0] ? last : "the copy failed");
}
