/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_io.c - moving bytes between a session's descriptors and its streams
 *
 * A source is watched only while it can make progress: level-triggered epoll
 * reports a hang-up for ever, also when nothing else was asked for.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/pty.h"
#include "guest/session_internal.h"
#include "proto/mux.h"

#define READ_BYTES (32u * 1024)
/* More than a terminal's buffers hold. */
#define TERMINAL_REST_BYTES (256u * 1024)
#define TERMINAL_RETRY_MS 100

static void watch(struct session *session, struct source *source)
{
	struct error err;

	if (!source->loop && loop_add(session->sessions->loop, source, &err))
		log_error("%s", err.text);
}

static void close_source(struct source *source)
{
	loop_del(source);
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
}

void session_output_close(struct session_output *output)
{
	close_source(&output->source);
}

static void end_output(struct session_output *output)
{
	session_output_close(output);
	if (output->stream && !output->stream->our_eof)
		mux_stream_eof(output->stream);
}

static size_t room(const struct session_output *output)
{
	size_t space =
		output->stream ? mux_stream_space(output->stream) : READ_BYTES;

	if (space > READ_BYTES)
		space = READ_BYTES;
	if (output->ending && space > output->left)
		space = output->left;
	return space;
}

void session_output_pause(struct session_output *output)
{
	loop_del(&output->source);
}

void session_output_resume(struct session_output *output)
{
	if (output->source.fd < 0 || output->session->sessions->paused ||
	    output->session->detached || !room(output))
		return;
	if (output->ending)
		session_output_finish(output);
	else
		watch(output->session, &output->source);
}

/* Bytes read; 0 = nothing now (or never again: then the output has ended). */
static size_t read_once(struct session_output *output)
{
	static uint8_t bytes[READ_BYTES];
	size_t space = room(output);
	ssize_t n;

	if (!space) {
		session_output_pause(output);
		return 0;
	}
	n = read(output->source.fd, bytes, space);
	if (n > 0) {
		if (output->stream)
			mux_stream_write(output->stream, bytes, (size_t)n);
		return (size_t)n;
	}
	if (n < 0 && (errno == EINTR || errno == EAGAIN) && !output->ending)
		return 0;
	if (n < 0 && errno == EIO && !output->ending) {
		/*
		 * Nobody has the terminal open. Its program may open it again
		 * through /dev/tty as long as it lives.
		 */
		session_output_pause(output);
		timer_start(output->session->sessions->loop,
			    &output->session->retry, TERMINAL_RETRY_MS);
		return 0;
	}
	end_output(output);
	return 0;
}

static void on_output(struct source *source, uint32_t events)
{
	struct session_output *output =
		CONTAINER_OF(source, struct session_output, source);

	/* STARTED goes before the first byte. */
	if (!session_check_report(output->session))
		return;
	read_once(output);
	session_check_end(output->session);
}

void session_output_finish(struct session_output *output)
{
	int available = 0;

	if (output->source.fd < 0 || output->session->detached)
		return;
	if (!output->ending) {
		output->ending = true;
		output->left = TERMINAL_REST_BYTES;
		if (!output->session->terminal &&
		    !ioctl(output->source.fd, FIONREAD, &available))
			output->left = (size_t)available;
	}
	/* A child in the background may hold the other end and write on. */
	while (output->source.fd >= 0 && output->left) {
		size_t n = read_once(output);

		if (!n)
			return;
		output->left -= n;
	}
	if (output->source.fd >= 0)
		end_output(output);
}

void session_input_close(struct session_input *input)
{
	close_source(&input->source);
}

static void end_input(struct session_input *input)
{
	int byte;
	char text;

	if (!input->session->terminal) {
		session_input_close(input);
		return;
	}
	if (input->eof_given)
		return;
	byte = pty_end_of_input(input->source.fd);
	text = (char)byte;
	if (byte < 0 || write(input->source.fd, &text, 1) == 1)
		input->eof_given = true;
}

/* False when the program cannot take more now. */
static bool write_once(struct session_input *input, struct mux_stream *stream)
{
	struct iovec pieces[2];
	int count = ring_readable(&stream->in, pieces);
	ssize_t n = writev(input->source.fd, pieces, count);

	if (n > 0) {
		mux_stream_take(stream, (size_t)n);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN) {
		watch(input->session, &input->source);
		return false;
	}
	session_input_close(input);
	return true;
}

void session_input_feed(struct session_input *input)
{
	struct mux_stream *stream = input->session->stdio;

	if (!stream)
		return;
	while (stream->in.len && input->source.fd >= 0) {
		if (!write_once(input, stream))
			return;
	}
	/* Nobody will read it: do not hold up the sender. */
	if (stream->in.len)
		mux_stream_take(stream, stream->in.len);
	loop_del(&input->source);
	if (stream->peer_eof && input->source.fd >= 0)
		end_input(input);
}

static void on_input(struct source *source, uint32_t events)
{
	session_input_feed(CONTAINER_OF(source, struct session_input, source));
}

static void on_retry(struct timer *timer)
{
	struct session *session = CONTAINER_OF(timer, struct session, retry);

	session_output_resume(&session->output);
}

void session_io_init(struct session *session)
{
	session->input = (struct session_input){
		.source = { .name = "session input",
			    .fd = -1,
			    .events = EPOLLOUT,
			    .on_event = on_input },
		.session = session,
	};
	session->output = (struct session_output){
		.source = { .name = "session output",
			    .fd = -1,
			    .events = EPOLLIN,
			    .on_event = on_output },
		.session = session,
	};
	session->error_output = session->output;
	session->error_output.source.name = "session errors";
	session->retry = (struct timer){ .name = "session terminal",
					 .on_fire = on_retry };
}
