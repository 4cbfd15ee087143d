/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_two_ends.c - host and guest end of a channel talk over a socketpair
 *
 * The socket's buffers are small and chunks are odd, so that frames are cut
 * everywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "proto/messages.h"
#include "proto/mux.h"

#define STREAMS 5
#define STALLED 3 /* nobody reads this one at first */
#define STREAM_BYTES (1024u * 1024)

struct end {
	struct mux mux;
	int fd;
	unsigned messages, markers;
	bool stall;   /* leave STALLED alone */
	bool broken;  /* mux_input() failed */
	bool corrupt; /* a byte was not the expected one */
	uint64_t written[STREAMS + 1], read[STREAMS + 1];
	bool ended[STREAMS + 1];
	enum message_type last;
};

/* A pattern that differs between streams and does not repeat in a window. */
static uint8_t pattern(uint32_t id, uint64_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16) + id);
}

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct end *end = ctx;
	struct message message;

	end->messages++;
	CHECK(message_decode(payload, len, &message) == 0);
	end->last = message.type;
	/* What bawn-init does: quiet until the marker comes. */
	if (message.type == MESSAGE_PREPARE)
		mux_expect_marker(&end->mux, message.prepare.marker);
}

static void take_all(struct end *end, struct mux_stream *stream)
{
	struct iovec iov[2];
	int pieces = ring_readable(&stream->in, iov);
	uint64_t *at = &end->read[stream->id];

	for (int i = 0; i < pieces; i++) {
		const uint8_t *bytes = iov[i].iov_base;

		for (size_t n = 0; n < iov[i].iov_len; n++)
			end->corrupt |=
				bytes[n] != pattern(stream->id, (*at)++);
	}
	mux_stream_take(stream, stream->in.len);
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	struct end *end = ctx;

	if (end->stall && stream->id == STALLED)
		return;
	take_all(end, stream);
	if (stream->peer_eof)
		end->ended[stream->id] = true;
}

static void on_marker(void *ctx)
{
	struct end *end = ctx;

	end->markers++;
	if (end->markers == 1 && end->last == MESSAGE_PREPARE)
		mux_send_marker(&end->mux, end->mux.marker);
}

static const struct mux_ops ops = { .on_message = on_message,
				    .on_stream = on_stream,
				    .on_marker = on_marker };

static int start(struct end ends[2])
{
	int fds[2], small = 8192;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       fds) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		ends[i] = (struct end){ .fd = fds[i] };
		mux_init(&ends[i].mux, &mux_control_limits, &ops, &ends[i]);
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &small,
			   sizeof(small));
	}
	return 0;
}

static void finish(struct end ends[2])
{
	for (int i = 0; i < 2; i++) {
		mux_release(&ends[i].mux);
		close(ends[i].fd);
	}
}

static bool send_some(struct end *end)
{
	struct iovec iov[3];
	int count = mux_output(&end->mux, iov);
	ssize_t n = count ? writev(end->fd, iov, count) : 0;

	if (n > 0)
		mux_sent(&end->mux, (size_t)n);
	return n > 0;
}

static bool receive_some(struct end *end)
{
	uint8_t bytes[5003];
	struct error err;
	ssize_t n = read(end->fd, bytes, sizeof(bytes));

	if (n > 0 && mux_input(&end->mux, bytes, (size_t)n, &err) < 0)
		end->broken = true;
	return n > 0;
}

static bool fill(struct end *end)
{
	bool progress = false;

	LIST_FOR_EACH(node, &end->mux.streams) {
		struct mux_stream *stream =
			LIST_ENTRY(node, struct mux_stream, link);
		uint64_t *at = &end->written[stream->id];
		uint8_t bytes[4099];
		size_t len = 0;

		while (len < sizeof(bytes) && *at + len < STREAM_BYTES) {
			bytes[len] = pattern(stream->id, *at + len);
			len++;
		}
		len = mux_stream_write(stream, bytes, len);
		*at += len;
		progress |= len > 0;
		if (*at == STREAM_BYTES)
			mux_stream_eof(stream);
	}
	return progress;
}

/* Memory of both ends is within what the windows allow. */
static void check_bounds(struct end ends[2])
{
	for (int i = 0; i < 2; i++) {
		LIST_FOR_EACH(node, &ends[i].mux.streams) {
			struct mux_stream *stream =
				LIST_ENTRY(node, struct mux_stream, link);

			CHECK(stream->in.len <= MUX_WINDOW);
			CHECK(stream->out.len <= MUX_WINDOW);
		}
		CHECK(ends[i].mux.messages.len <= MUX_MESSAGES_MAX);
		CHECK(ends[i].mux.input.len <=
		      FRAME_HEADER_BYTES + FRAME_MESSAGE_MAX);
	}
}

/* Until nothing moves any more. */
static void run(struct end ends[2])
{
	bool progress = true;

	while (progress && !ends[0].broken && !ends[1].broken) {
		progress = false;
		for (int i = 0; i < 2; i++) {
			progress |= fill(&ends[i]);
			progress |= send_some(&ends[i]);
			progress |= receive_some(&ends[i]);
		}
		check_bounds(ends);
	}
}

static void open_streams(struct end ends[2])
{
	for (int i = 0; i < 2; i++)
		for (uint32_t id = 1; id <= STREAMS; id++)
			CHECK(mux_stream_open(&ends[i].mux, id, NULL));
}

static int send_message(struct end *end, const struct message *message)
{
	uint8_t bytes[512];
	long len = message_encode(message, bytes, sizeof(bytes));

	return len < 0 ? -1 : mux_send_message(&end->mux, bytes, (size_t)len);
}

static void megabytes_arrive_in_order_both_ways(void)
{
	struct end ends[2];

	REQUIRE(start(ends) == 0);
	open_streams(ends);
	run(ends);
	for (int i = 0; i < 2; i++) {
		CHECK(!ends[i].broken && !ends[i].corrupt);
		for (int id = 1; id <= STREAMS; id++)
			CHECK(ends[i].read[id] == STREAM_BYTES &&
			      ends[i].ended[id]);
		LIST_FOR_EACH(node, &ends[i].mux.streams) {
			struct mux_stream *stream =
				LIST_ENTRY(node, struct mux_stream, link);

			CHECK(!stream->in.data && !stream->out.data);
		}
	}
	finish(ends);
}

static void a_stalled_reader_holds_up_its_own_stream_only(void)
{
	struct message stats = { .type = MESSAGE_STATS };
	struct end ends[2];
	struct mux_stream *stalled;

	REQUIRE(start(ends) == 0);
	open_streams(ends);
	ends[1].stall = true;
	run(ends);
	CHECK(!ends[0].broken && !ends[1].broken);
	for (int id = 1; id <= STREAMS; id++)
		CHECK((ends[1].read[id] == STREAM_BYTES) == (id != STALLED));
	stalled = mux_stream_find(&ends[1].mux, STALLED);
	CHECK(stalled->in.len == MUX_WINDOW);
	CHECK(ends[0].written[STALLED] == 2 * MUX_WINDOW);
	/* Messages still pass, both ways. */
	CHECK(send_message(&ends[0], &stats) == 0);
	CHECK(send_message(&ends[1], &stats) == 0);
	run(ends);
	CHECK(ends[0].messages == 1 && ends[1].messages == 1);
	/* The reader wakes up and gets the rest. */
	ends[1].stall = false;
	on_stream(&ends[1], stalled);
	run(ends);
	CHECK(ends[1].read[STALLED] == STREAM_BYTES);
	CHECK(!ends[1].corrupt && ends[1].ended[STALLED]);
	finish(ends);
}

static void a_closed_stream_ends_at_the_other_end(void)
{
	struct end ends[2];
	struct mux_stream *stream;

	REQUIRE(start(ends) == 0);
	open_streams(ends);
	for (int i = 0; i < 20; i++) {
		fill(&ends[0]);
		send_some(&ends[0]);
		receive_some(&ends[1]);
	}
	mux_stream_close(mux_stream_find(&ends[0].mux, 2), EIO);
	run(ends);
	CHECK(!ends[0].broken && !ends[1].broken && !ends[1].corrupt);
	stream = mux_stream_find(&ends[1].mux, 2);
	CHECK(stream && stream->closed && stream->close_code == EIO);
	CHECK(ends[1].read[2] < STREAM_BYTES);
	CHECK(ends[1].read[1] == STREAM_BYTES);
	finish(ends);
}

/*
 * The guest goes on in the middle of a frame of an older epoch, with a part
 * of the marker before the marker; the host finds what the guest had written
 * before it was asleep.
 */
static void both_ends_meet_again_at_the_marker(void)
{
	static const uint8_t old_bytes[] = { 2, 0, 0, 0, 1, 0, 0, 0, 99, 0, 0 };
	struct message prepare = { .type = MESSAGE_PREPARE };
	struct message wake = { .type = MESSAGE_WAKE };
	struct message awake = { .type = MESSAGE_AWAKE };
	struct end ends[2];
	uint8_t *marker = prepare.prepare.marker;

	REQUIRE(start(ends) == 0);
	for (size_t i = 0; i < MUX_MARKER_BYTES; i++)
		marker[i] = (uint8_t)(i % 5 == 4 ? i : i % 5);
	open_streams(ends);
	CHECK(send_message(&ends[0], &prepare) == 0);
	run(ends);
	CHECK(ends[1].mux.awaiting_marker && !ends[1].markers);
	CHECK(mux_stream_find(&ends[1].mux, 1)->closed);

	/* A new supervisor: it knows the marker and nothing else. */
	mux_release(&ends[0].mux);
	mux_init(&ends[0].mux, &mux_control_limits, &ops, &ends[0]);
	ends[0].last = MESSAGE_TYPES;
	CHECK(write(ends[0].fd, old_bytes, sizeof(old_bytes)) > 0);
	CHECK(write(ends[0].fd, marker, 13) == 13);
	CHECK(write(ends[1].fd, old_bytes, sizeof(old_bytes)) > 0);
	CHECK(write(ends[1].fd, marker, 21) == 21);
	mux_send_marker(&ends[0].mux, marker);
	mux_expect_marker(&ends[0].mux, marker);
	CHECK(send_message(&ends[0], &wake) == 0);
	run(ends);
	CHECK(!ends[0].broken && !ends[1].broken);
	CHECK(ends[0].markers == 1 && ends[1].markers == 1);
	CHECK(ends[1].last == MESSAGE_WAKE);
	CHECK(send_message(&ends[1], &awake) == 0);
	run(ends);
	CHECK(ends[0].last == MESSAGE_AWAKE);
	finish(ends);
}

static void streams_of_the_new_epoch_work_after_the_marker(void)
{
	struct end ends[2];
	uint8_t marker[MUX_MARKER_BYTES];

	REQUIRE(start(ends) == 0);
	memset(marker, 0xa5, sizeof(marker));
	for (int i = 0; i < 2; i++) {
		mux_expect_marker(&ends[i].mux, marker);
		mux_send_marker(&ends[i].mux, marker);
	}
	open_streams(ends);
	run(ends);
	CHECK(ends[0].markers == 1 && ends[1].markers == 1);
	CHECK(!ends[0].corrupt && !ends[1].corrupt);
	CHECK(ends[0].read[1] == STREAM_BYTES);
	CHECK(ends[1].read[STREAMS] == STREAM_BYTES);
	finish(ends);
}

int main(void)
{
	RUN(megabytes_arrive_in_order_both_ways);
	RUN(a_stalled_reader_holds_up_its_own_stream_only);
	RUN(a_closed_stream_ends_at_the_other_end);
	RUN(both_ends_meet_again_at_the_marker);
	RUN(streams_of_the_new_epoch_work_after_the_marker);
	return DONE();
}
