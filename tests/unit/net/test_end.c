/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_end.c - sockets and streams as ends, and bytes between them
 */
#include "net/end.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/own.h"
#include "lib/tap.h"
#include "net/limit.h"
#include "proto/mux.h"
#include "proto/net_messages.h"
#include "wire/address.h"

static struct loop *loop;
static struct ends ends;
static struct mux mux;
static int events, peer;
static bool reads; /* what the user does on an event */

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	end_stream_on_change(stream);
}

static void on_marker(void *ctx)
{
}

static const struct mux_ops ops = { .on_message = on_message,
				    .on_stream = on_stream,
				    .on_marker = on_marker };

static void on_event(struct end *end)
{
	events++;
	if (reads)
		end_fill(end);
}

static struct end *open_pair(void)
{
	int pair[2];
	struct end *end;

	events = 0;
	reads = true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	end = end_socket_adopt(&ends, pair[0], "test", NULL);
	end->on_event = on_event;
	peer = pair[1];
	return end;
}

static void step(void)
{
	loop_step(loop, 0, NULL);
}

static void close_all(struct end *end)
{
	end_close(end, 0);
	if (peer >= 0)
		close(peer);
	step();
	CHECK(ends.buffered == 0 && ends.count == 0);
}

static bool has(const struct end *end, const char *text)
{
	struct iovec iov[2];

	return end_peek(end, iov) == 1 && iov[0].iov_len == strlen(text) &&
	       !memcmp(iov[0].iov_base, text, strlen(text));
}

static void bytes_stay_until_they_are_taken(void)
{
	struct end *end = open_pair();

	CHECK(write(peer, "hello", 5) == 5);
	step();
	CHECK(events == 1 && has(end, "hello") && ends.buffered > 0);
	CHECK(write(peer, "!", 1) == 1);
	step();
	CHECK(has(end, "hello!"));
	end_take(end, 6);
	CHECK(ends.buffered == 0 && !end->eof);
	close(peer);
	peer = -1;
	step();
	CHECK(end->eof && !end->error);
	/* Said once: it would be said for ever. */
	events = 0;
	step();
	step();
	CHECK(events <= 1);
	close_all(end);
}

static void a_user_that_does_not_read_is_left_alone(void)
{
	struct end *end = open_pair();

	reads = false;
	CHECK(write(peer, "x", 1) == 1);
	for (int i = 0; i < 5; i++)
		step();
	CHECK(events == 1);
	/* Also when the peer goes. */
	close(peer);
	peer = -1;
	for (int i = 0; i < 5; i++)
		step();
	CHECK(events == 2);
	end_fill(end);
	CHECK(has(end, "x"));
	end_take(end, 1);
	end_fill(end);
	step();
	reads = true;
	step();
	end_fill(end);
	CHECK(end->eof);
	close_all(end);
}

static void what_the_kernel_does_not_take_waits_in_the_end(void)
{
	static char block[LIMIT_SOCKET_BUFFER];
	struct end *end = open_pair();
	size_t written = 0, n;

	do {
		n = end_write(end, block, sizeof(block));
		written += n;
	} while (n == sizeof(block));
	CHECK(end_space(end) == 0 && !end_drained(end));
	CHECK(ends.buffered >= LIMIT_SOCKET_BUFFER);
	end_finish(end);
	CHECK(end_write(end, "x", 1) == 0);
	while (written > 0) {
		ssize_t got = read(peer, block, sizeof(block));

		if (got <= 0)
			break;
		written -= (size_t)got;
		step();
	}
	CHECK(written == 0 && end_drained(end));
	CHECK(read(peer, block, 1) == 0); /* end of file came behind it */
	close_all(end);
}

static void an_error_comes_after_the_bytes_before_it(void)
{
	struct end *end = open_pair();

	end_write(end, "unread", 6);
	CHECK(write(peer, "last words", 10) == 10);
	close(peer); /* with unread bytes: that is a reset */
	peer = -1;
	step();
	CHECK(has(end, "last words"));
	end_take(end, 10);
	for (int i = 0; i < 3 && !end->error; i++)
		step();
	CHECK(end->error == ECONNRESET);
	close_all(end);
}

static void a_connection_that_is_refused_has_an_error(void)
{
	struct address address = { ADDRESS_V4, { 127, 0, 0, 1 } };
	struct error err = { 0 };
	struct end *end = end_socket_connect(&ends, &address, 1, &err);

	peer = -1;
	if (!end) { /* no network here, or at once */
		CHECK(err.code);
		return;
	}
	end->on_event = on_event;
	for (int i = 0; i < 10 && !end->error; i++)
		loop_step(loop, 100, NULL);
	CHECK(end->error == ECONNREFUSED && !end->connected);
	close_all(end);
}

static void bytes_move_from_a_socket_to_a_stream(void)
{
	struct end *socket_end = open_pair(), *stream_end;
	struct mux_stream *stream;
	struct iovec iov[3];

	mux_init(&mux, &mux_net_limits, &ops, NULL);
	stream = mux_stream_open(&mux, 1, NULL);
	stream_end = end_stream_new(&ends, stream);
	reads = false;
	CHECK(write(peer, "down", 4) == 4);
	step();
	CHECK(end_move(socket_end, stream_end, 1000) == 4);
	CHECK(ends.buffered == 0); /* past the socket's own buffer */
	CHECK(mux_output(&mux, iov) == 2 && iov[1].iov_len == 4);
	mux_sent(&mux, iov[0].iov_len + 4);
	close(peer);
	peer = -1;
	step();
	end_move(socket_end, stream_end, 1000);
	CHECK(socket_end->eof && stream_end->finished && stream->our_eof);
	end_close(stream_end, 0);
	mux_release(&mux);
	close_all(socket_end);
}

static void a_full_stream_stops_the_socket(void)
{
	static char block[1 << 16];
	struct end *socket_end = open_pair(), *stream_end;
	struct mux_stream *stream;
	size_t moved = 0, before;

	mux_init(&mux, &mux_net_limits, &ops, NULL);
	stream = mux_stream_open(&mux, 1, NULL);
	stream_end = end_stream_new(&ends, stream);
	reads = false;
	do {
		before = moved;
		CHECK(write(peer, block, sizeof(block)) == sizeof(block));
		step();
		moved += end_move(socket_end, stream_end, SIZE_MAX);
	} while (moved > before && moved < 4 * NET_WINDOW);
	CHECK(moved == NET_WINDOW && end_space(stream_end) == 0);
	events = 0;
	for (int i = 0; i < 5; i++)
		step();
	CHECK(events <= 1);
	while (stream->out.len) {
		struct iovec iov[3];
		int count = mux_output(&mux, iov);
		size_t len = 0;

		for (int i = 0; i < count; i++)
			len += iov[i].iov_len;
		mux_sent(&mux, len);
	}
	CHECK(end_move(socket_end, stream_end, SIZE_MAX) > 0);
	end_close(stream_end, 0);
	mux_release(&mux);
	close_all(socket_end);
}

static void bytes_move_from_a_stream_to_a_socket(void)
{
	struct end *socket_end = open_pair(), *stream_end;
	struct mux_stream *stream;
	char text[8] = "";

	mux_init(&mux, &mux_net_limits, &ops, NULL);
	stream = mux_stream_open(&mux, 1, NULL);
	stream_end = end_stream_new(&ends, stream);
	ring_write(&stream->in, "up", 2);
	stream->peer_eof = true;
	end_stream_on_change(stream);
	CHECK(stream_end->eof && has(stream_end, "up"));
	CHECK(end_move(stream_end, socket_end, 1000) == 2);
	CHECK(socket_end->finished);
	CHECK(read(peer, text, sizeof(text)) == 2 && !strcmp(text, "up"));
	CHECK(read(peer, text, sizeof(text)) == 0);
	end_close(stream_end, ECONNRESET);
	mux_release(&mux);
	close_all(socket_end);
}

static void pieces_are_put_together(void)
{
	struct end *end;
	struct mux_stream *stream;
	static char block[4000];
	char scratch[64];
	const uint8_t *bytes;
	size_t len;

	mux_init(&mux, &mux_net_limits, &ops, NULL);
	stream = mux_stream_open(&mux, 1, NULL);
	end = end_stream_new(&ends, stream);
	ring_write(&stream->in, block, sizeof(block));
	ring_write(&stream->in, "ab", 2);
	end_take(end, 4000);
	ring_write(&stream->in, block, 94);
	ring_write(&stream->in, "cd", 2);
	CHECK(end_available(end) == 98);
	bytes = end_gather(end, scratch, sizeof(scratch), &len);
	CHECK(len == 64 && !memcmp(bytes, "ab", 2));
	CHECK(bytes == (const uint8_t *)scratch);
	end_close(end, 0);
	mux_release(&mux);
}

int main(void)
{
	loop = loop_new(NULL);
	ends.loop = loop;
	RUN(bytes_stay_until_they_are_taken);
	RUN(a_user_that_does_not_read_is_left_alone);
	RUN(what_the_kernel_does_not_take_waits_in_the_end);
	RUN(an_error_comes_after_the_bytes_before_it);
	RUN(a_connection_that_is_refused_has_an_error);
	RUN(bytes_move_from_a_socket_to_a_stream);
	RUN(a_full_stream_stops_the_socket);
	RUN(bytes_move_from_a_stream_to_a_socket);
	RUN(pieces_are_put_together);
	loop_free(loop);
	return DONE();
}
