/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_stream.c - an end that is a stream of the port
 *
 * The mux has the buffers; the window is the back-pressure.
 */
#include "net/end.h"

#include <errno.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "proto/mux.h"

struct end_stream {
	struct end end;
	struct ends *ends;
	struct mux_stream *stream; /* owned */
};

static struct end_stream *stream_of(const struct end *end)
{
	return CONTAINER_OF(end, struct end_stream, end);
}

static int stream_peek(const struct end *end, struct iovec iov[2])
{
	return ring_readable(&stream_of(end)->stream->in, iov);
}

static void stream_take(struct end *end, size_t len)
{
	mux_stream_take(stream_of(end)->stream, len);
}

static size_t stream_space(const struct end *end)
{
	return mux_stream_space(stream_of(end)->stream);
}

static size_t stream_write(struct end *end, const void *bytes, size_t len)
{
	return mux_stream_write(stream_of(end)->stream, bytes, len);
}

static int stream_room(struct end *end, size_t want, struct iovec iov[2])
{
	return mux_stream_room(stream_of(end)->stream, want, iov);
}

static void stream_filled(struct end *end, size_t len)
{
	mux_stream_filled(stream_of(end)->stream, len);
}

static bool stream_drained(const struct end *end)
{
	return stream_of(end)->stream->out.len == 0;
}

static void stream_finish(struct end *end)
{
	mux_stream_eof(stream_of(end)->stream);
}

static void stream_close(struct end *end, int code)
{
	struct end_stream *self = stream_of(end);

	self->stream->owner = NULL;
	mux_stream_close(self->stream, (uint32_t)code);
	loop_defer_free(self->ends->loop, self);
}

static const struct end_ops stream_ops = {
	.peek = stream_peek,
	.take = stream_take,
	.space = stream_space,
	.write = stream_write,
	.room = stream_room,
	.filled = stream_filled,
	.drained = stream_drained,
	.finish = stream_finish,
	.close = stream_close,
};

struct end *end_stream_new(struct ends *ends, struct mux_stream *stream)
{
	struct end_stream *self = xcalloc(1, sizeof(*self));

	*self = (struct end_stream){
		.end = { .ops = &stream_ops, .connected = true },
		.ends = ends,
		.stream = stream,
	};
	stream->owner = &self->end;
	return &self->end;
}

void end_stream_on_change(struct mux_stream *stream)
{
	struct end *end = stream->owner;

	if (!end)
		return;
	end->eof = stream->peer_eof;
	/* The guest's number says why, but must not say "no error". */
	if (stream->closed && !end->error)
		end->error = ECONNRESET;
	if (end->on_event)
		end->on_event(end);
}
