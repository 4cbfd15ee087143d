/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_sink.c - a layer on its way to bawn-layers
 */
#include "net/layer_sink.h"

#include <errno.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"

/* What one piece of a body may have; pipes take most of it at once. */
#define PENDING_MAX (1u << 20)

struct layer_sink {
	struct source source; /* owns its descriptor; -1: useless */
	struct loop *loop;
	struct buffer pending;
	layer_sink_fn *on_space; /* NULL: its writer has gone */
	void *ctx;
};

static void useless(struct layer_sink *sink)
{
	loop_del(&sink->source);
	if (sink->source.fd >= 0)
		close(sink->source.fd);
	sink->source.fd = -1;
	sink->pending.len = 0;
}

/* How many bytes it took; less than all: it waits, or is useless. */
static size_t put(struct layer_sink *sink, const void *bytes, size_t len)
{
	ssize_t n = write(sink->source.fd, bytes, len);

	if (n >= 0)
		return (size_t)n;
	if (errno != EAGAIN && errno != EINTR)
		useless(sink);
	return 0;
}

static void on_event(struct source *source, uint32_t events)
{
	struct layer_sink *sink =
		CONTAINER_OF(source, struct layer_sink, source);

	if (events & EPOLLERR)
		useless(sink);
	else
		buffer_consume(&sink->pending, put(sink, sink->pending.data,
						   sink->pending.len));
	if (sink->pending.len)
		return;
	if (sink->source.fd >= 0)
		loop_wait_for(&sink->source, 0);
	if (sink->on_space)
		sink->on_space(sink->ctx);
	else
		layer_sink_drop(sink);
}

struct layer_sink *layer_sink_new(struct loop *loop, int fd,
				  layer_sink_fn *on_space, void *ctx)
{
	struct layer_sink *sink = xcalloc(1, sizeof(*sink));
	struct error err = { 0 };

	*sink = (struct layer_sink){ .loop = loop,
				     .pending = BUFFER_INIT(PENDING_MAX),
				     .on_space = on_space,
				     .ctx = ctx };
	sink->source = (struct source){ .name = "layer",
					.fd = fd,
					.on_event = on_event };
	if (loop_add(loop, &sink->source, &err) < 0)
		useless(sink);
	return sink;
}

bool layer_sink_takes(const struct layer_sink *sink)
{
	return !sink->pending.len;
}

void layer_sink_write(struct layer_sink *sink, const void *bytes, size_t len)
{
	size_t done = 0;

	if (sink->source.fd < 0)
		return;
	if (!sink->pending.len)
		done = put(sink, bytes, len);
	if (sink->source.fd < 0 || done == len)
		return;
	if (buffer_append(&sink->pending, (const char *)bytes + done,
			  len - done) < 0)
		useless(sink);
	else
		loop_wait_for(&sink->source, EPOLLOUT);
}

void layer_sink_drop(struct layer_sink *sink)
{
	if (!sink)
		return;
	useless(sink);
	buffer_release(&sink->pending);
	loop_defer_free(sink->loop, sink);
}

void layer_sink_finish(struct layer_sink *sink)
{
	if (!sink)
		return;
	sink->on_space = NULL;
	if (!sink->pending.len)
		layer_sink_drop(sink);
}
