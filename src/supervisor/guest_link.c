/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_link.c - bytes of the port in and out of the mux
 */
#include "supervisor/guest_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

enum {
	/* Fair to the other sources: a flood gets no more than this. */
	READS_A_ROUND = 4,
	WRITES_A_ROUND = 16,
	READ_BYTES = 65536,
	DRAIN_ROUNDS = 4, /* the socket's buffer, and no more */
};

static void link_broken(struct guest_link *link, const char *why)
{
	if (link->broken)
		return;
	link->broken = true;
	loop_del(&link->source);
	log_limited(LOG_LEVEL_WARN, "guest channel: %s", why);
	link->ops->on_broken(link->ctx, why);
}

static void link_closed(struct guest_link *link)
{
	if (link->broken)
		return;
	link->broken = true;
	loop_del(&link->source);
	link->ops->on_closed(link->ctx);
}

static void on_mux_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct guest_link *link = ctx;
	struct message message;

	if (link->broken || link->why[0])
		return;
	if (message_decode(payload, len, &message) < 0) {
		guest_link_blame(link, "a message that does not decode");
		return;
	}
	log_trace("guest: %s", message_name(message.type));
	link->ops->on_message(link->ctx, &message);
}

static void on_mux_stream(void *ctx, struct mux_stream *stream)
{
	struct guest_link *link = ctx;

	link->ops->on_stream(link->ctx, stream);
}

static void on_mux_marker(void *ctx)
{
	struct guest_link *link = ctx;

	link->ops->on_marker(link->ctx);
}

static const struct mux_ops mux_ops = {
	.on_message = on_mux_message,
	.on_stream = on_mux_stream,
	.on_marker = on_mux_marker,
};

static void link_read(struct guest_link *link)
{
	static uint8_t bytes[READ_BYTES];
	struct error err;

	for (int i = 0; i < READS_A_ROUND && !link->frozen; i++) {
		ssize_t got = read(link->source.fd, bytes, sizeof(bytes));
		int result;

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			link_closed(link);
			return;
		}
		link->busy = true;
		result = mux_input(&link->mux, bytes, (size_t)got, &err);
		link->busy = false;
		if (result < 0) {
			link_broken(link, err.text);
			return;
		}
		if (link->why[0]) {
			link_broken(link, link->why);
			return;
		}
		if (link->broken || (size_t)got < sizeof(bytes) / 2)
			return;
	}
}

void guest_link_flush(struct guest_link *link)
{
	struct iovec iov[3];
	int pieces = 0;

	if (link->frozen || link->broken || link->busy || link->held ||
	    !link->source.loop)
		return;
	link->busy = true;
	for (int i = 0; i < WRITES_A_ROUND; i++) {
		ssize_t sent;

		pieces = mux_output(&link->mux, iov);
		if (!pieces)
			break;
		sent = writev(link->source.fd, iov, pieces);
		if (sent < 0 && errno == EINTR)
			continue;
		/* A port that is gone is noticed by the reading side. */
		if (sent < 0)
			break;
		mux_sent(&link->mux, (size_t)sent);
		if (link->broken || link->frozen)
			break;
		if (link->hold && mux_between_frames(&link->mux)) {
			link->held = true;
			pieces = 0;
			break;
		}
	}
	link->busy = false;
	if (link->broken || link->frozen)
		return;
	loop_wait_for(&link->source, pieces ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void guest_link_drain(struct guest_link *link)
{
	for (int i = 0; i < DRAIN_ROUNDS && !link->broken && link->ops; i++)
		link_read(link);
}

static void on_link(struct source *source, uint32_t events)
{
	struct guest_link *link =
		CONTAINER_OF(source, struct guest_link, source);

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		link_read(link);
	guest_link_flush(link);
}

int guest_link_open(struct guest_link *link, struct loop *loop, int fd,
		    const struct guest_link_ops *ops, void *ctx,
		    struct error *err)
{
	*link = (struct guest_link){
		.ops = ops,
		.ctx = ctx,
		.loop = loop,
		.source = { .name = "guest channel",
			    .fd = fd,
			    .events = EPOLLIN,
			    .on_event = on_link },
		.scratch = xmalloc(FRAME_MESSAGE_MAX),
	};
	mux_init(&link->mux, &mux_control_limits, &mux_ops, link);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "guest channel");
	return loop_add(loop, &link->source, err);
}

void guest_link_close(struct guest_link *link)
{
	if (!link->ops)
		return;
	link->broken = true;
	loop_del(&link->source);
	if (link->source.fd >= 0)
		close(link->source.fd);
	link->source.fd = -1;
	mux_release(&link->mux);
	free(link->scratch);
	link->scratch = NULL;
	link->ops = NULL;
}

void guest_link_restart(struct guest_link *link,
			const uint8_t marker[MUX_MARKER_BYTES])
{
	mux_expect_marker(&link->mux, marker);
	mux_send_marker(&link->mux, marker);
}

int guest_link_send(struct guest_link *link, const struct message *message,
		    struct error *err)
{
	long len;

	if (link->broken || link->frozen)
		return error_set(err, EPIPE, "the guest cannot be reached");
	len = message_encode(message, link->scratch, FRAME_MESSAGE_MAX);
	if (len < 0)
		return error_set(err, EMSGSIZE,
				 "arguments and environment are too long");
	if (mux_send_message(&link->mux, link->scratch, (size_t)len) < 0)
		return error_set(err, EAGAIN, "the guest does not listen");
	guest_link_flush(link);
	return 0;
}

void guest_link_freeze(struct guest_link *link)
{
	link->frozen = true;
	loop_del(&link->source);
}

void guest_link_hold(struct guest_link *link, bool hold)
{
	link->hold = hold;
	link->held = hold && mux_between_frames(&link->mux);
	guest_link_flush(link);
}

void guest_link_blame(struct guest_link *link, const char *why)
{
	if (!link->why[0])
		text_copy(link->why, sizeof(link->why), why);
}
