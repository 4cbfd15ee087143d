/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_session.c - a connection that speaks HTTP/2, whichever side we are
 */
#include "net/h2_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/h2_stream.h"
#include "net/http.h"
#include "net/limit.h"

/* Of the library: a frame of the size that every peer takes, with its head. */
#define FRAME_BYTES (16384u + 64)
/* Read in one go, so that all connections have their turn. */
#define RECEIVE_BYTES (256u * 1024)
/* Frames that wait to be sent; over it nothing is read. */
#define QUEUE_MAX 512
#define SEND_HEAD_MAX (128u * 1024)

static struct h2_stream *stream_of(nghttp2_session *library, int32_t id)
{
	return nghttp2_session_get_stream_user_data(library, id);
}

/* The library ends the connection when it is told so. */
static int charge(struct h2_session *self, struct h2_budget *budget)
{
	if (h2_budget_spend(budget, loop_now_ms()))
		return 0;
	if (!self->broke)
		self->broke = "too many frames that lead nowhere";
	return nghttp2_session_terminate_session(self->library,
						 NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_begin_frame(nghttp2_session *library, const nghttp2_frame_hd *hd,
			  void *ctx)
{
	struct h2_session *self = ctx;

	self->heading =
		hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_CONTINUATION;
	return 0;
}

static int on_begin_headers(nghttp2_session *library,
			    const nghttp2_frame *frame, void *ctx)
{
	struct h2_session *self = ctx;
	int32_t id = frame->hd.stream_id;
	struct h2_stream *stream = stream_of(library, id);

	if (!stream && self->on_open &&
	    frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		stream = self->on_open(self);
		stream->id = id;
		nghttp2_session_set_stream_user_data(library, id, stream);
	}
	if (!stream || stream->block_count < H2_STREAM_BLOCKS)
		return 0;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *library, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *ctx)
{
	struct h2_stream *stream = stream_of(library, frame->hd.stream_id);

	if (stream)
		h2_stream_on_field(stream,
				   span_over((const char *)name, name_len),
				   span_over((const char *)value, value_len));
	return 0;
}

/* The library drops it; of a server's fields we do the same. */
static int on_invalid_header(nghttp2_session *library,
			     const nghttp2_frame *frame, const uint8_t *name,
			     size_t name_len, const uint8_t *value,
			     size_t value_len, uint8_t flags, void *ctx)
{
	struct h2_session *self = ctx;
	struct h2_stream *stream = stream_of(library, frame->hd.stream_id);

	if (stream && self->on_open)
		stream->malformed = true;
	return 0;
}

static void end_head(struct h2_session *self, struct h2_stream *stream,
		     bool ends)
{
	struct http2_block *block = &stream->blocks[stream->block_count++];

	http2_block_join_cookies(block);
	if (stream->has_head) {
		stream->has_trailers = true;
	} else if (self->on_open || !http2_is_interim(block)) {
		stream->has_head = true;
		stream->ends_at_head = ends;
	}
}

static int on_frame(nghttp2_session *library, const nghttp2_frame *frame,
		    void *ctx)
{
	struct h2_session *self = ctx;
	struct h2_stream *stream = stream_of(library, frame->hd.stream_id);
	bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	self->heading = false;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		if (stream)
			end_head(self, stream, ends);
		break;
	case NGHTTP2_DATA:
		if (!ends && !frame->hd.length)
			return charge(self, &self->others);
		break;
	case NGHTTP2_SETTINGS:
		self->greeted = true;
		return charge(self, &self->others);
	case NGHTTP2_RST_STREAM:
		return charge(self, &self->resets);
	case NGHTTP2_GOAWAY:
		self->refused = true;
		break;
	case NGHTTP2_PING:
	case NGHTTP2_PRIORITY:
		return charge(self, &self->others);
	default:
		break;
	}
	if (stream && ends)
		stream->in_end = true;
	return 0;
}

static int on_bytes(nghttp2_session *library, uint8_t flags, int32_t id,
		    const uint8_t *bytes, size_t len, void *ctx)
{
	struct h2_stream *stream = stream_of(library, id);

	if (stream)
		h2_stream_on_bytes(stream, bytes, len);
	else
		nghttp2_session_consume(library, id, len);
	return 0;
}

static int on_close(nghttp2_session *library, int32_t id, uint32_t error,
		    void *ctx)
{
	struct h2_session *self = ctx;
	struct h2_stream *stream = stream_of(library, id);

	self->heading = false;
	if (stream) {
		stream->closed = true;
		stream->error = error;
	}
	return 0;
}

/* The library ended the connection, or we did: for the log. */
static int on_sent(nghttp2_session *library, const nghttp2_frame *frame,
		   void *ctx)
{
	struct h2_session *self = ctx;

	if (frame->hd.type == NGHTTP2_GOAWAY &&
	    frame->goaway.error_code != NGHTTP2_NO_ERROR && !self->broke)
		self->broke = "not the protocol of HTTP/2";
	return 0;
}

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *set;

	if (nghttp2_session_callbacks_new(&set) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_frame_callback(set,
							      on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		set, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(set, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback(
		set, on_invalid_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(set, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set,
								  on_bytes);
	nghttp2_session_callbacks_set_on_stream_close_callback(set, on_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(set, on_sent);
	return set;
}

static nghttp2_option *make_options(void)
{
	nghttp2_option *options;

	if (nghttp2_option_new(&options) != 0)
		return NULL;
	/* More is granted when it was taken, and not before. */
	nghttp2_option_set_no_auto_window_update(options, 1);
	nghttp2_option_set_no_closed_streams(options, 1);
	nghttp2_option_set_max_send_header_block_length(options, SEND_HEAD_MAX);
	nghttp2_option_set_peer_max_concurrent_streams(options,
						       LIMIT_H2_STREAMS);
	return options;
}

/* Our preface; the library queues it. */
static int greet(struct h2_session *self)
{
	const nghttp2_settings_entry to_client[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_H2_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		  LIMIT_H2_CLIENT_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2_LIST_MAX },
	};
	const nghttp2_settings_entry to_server[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		  LIMIT_H2_SERVER_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP2_LIST_MAX },
	};

	if (nghttp2_submit_settings(self->library, NGHTTP2_FLAG_NONE,
				    self->on_open ? to_client : to_server,
				    3) != 0)
		return -1;
	return nghttp2_session_set_local_window_size(
		self->library, NGHTTP2_FLAG_NONE, 0, LIMIT_H2_WINDOW);
}

void h2_session_init(struct h2_session *session, struct http *http,
		     struct end *end, h2_open_fn *on_open)
{
	nghttp2_session_callbacks *callbacks = make_callbacks();
	nghttp2_option *options = make_options();
	int result = -1;

	*session = (struct h2_session){
		.http = http,
		.gate = http->flow->gate,
		.end = end,
		.on_open = on_open,
		.resets = { .burst = LIMIT_H2_RESETS,
			    .per_second = LIMIT_H2_RESETS_PER_S },
		.others = { .burst = LIMIT_H2_OTHERS,
			    .per_second = LIMIT_H2_OTHERS_PER_S },
	};
	list_init(&session->streams);
	if (callbacks && options)
		result =
			on_open ? nghttp2_session_server_new2(&session->library,
							      callbacks,
							      session, options)
				: nghttp2_session_client_new2(&session->library,
							      callbacks,
							      session, options);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(options);
	/* There is no other reason than memory. */
	if (result != 0 || greet(session) != 0)
		abort();
}

void h2_session_release(struct h2_session *session)
{
	nghttp2_session_del(session->library);
	session->library = NULL;
}

bool h2_session_takes_head(const struct h2_session *session)
{
	return nghttp2_session_get_outbound_queue_size(session->library) <
	       QUEUE_MAX;
}

static void feed(struct h2_session *self, const struct iovec *part)
{
	size_t len = part->iov_len < FRAME_BYTES ? part->iov_len : FRAME_BYTES;
	ssize_t used =
		nghttp2_session_mem_recv(self->library, part->iov_base, len);

	if (used < 0 && !self->broke)
		self->broke = used == NGHTTP2_ERR_FLOODED
				      ? "too many frames that want an answer"
				      : "not the protocol of HTTP/2";
	end_take(self->end, len);
}

void h2_session_receive(struct h2_session *session)
{
	size_t total = 0;
	struct iovec iov[2];

	while (!session->broke && total < RECEIVE_BYTES &&
	       h2_session_takes_head(session) &&
	       nghttp2_session_want_read(session->library)) {
		end_fill(session->end);
		if (!end_peek(session->end, iov))
			break;
		total += iov[0].iov_len;
		feed(session, &iov[0]);
		session->http->moved++;
	}
}

/* Frames are put together, for the sake of the layer beneath. */
static size_t collect(struct h2_session *self, uint8_t *out, size_t room)
{
	size_t used = 0;

	while (room - used >= FRAME_BYTES) {
		const uint8_t *frame;
		ssize_t len = nghttp2_session_mem_send(self->library, &frame);

		if (len < 0 && !self->broke)
			self->broke = "a frame that cannot be sent";
		if (len <= 0)
			break;
		memcpy(out + used, frame, (size_t)len);
		used += (size_t)len;
	}
	return used;
}

void h2_session_send(struct h2_session *session)
{
	struct gate *gate = session->gate;
	size_t room, used;

	do {
		room = end_space(session->end);
		if (room > sizeof(gate->encoded))
			room = sizeof(gate->encoded);
		used = collect(session, gate->encoded, room);
		if (used) {
			end_write(session->end, gate->encoded, used);
			session->http->moved++;
		}
	} while (used);
}

bool h2_session_is_over(const struct h2_session *session)
{
	return !nghttp2_session_want_read(session->library) &&
	       !nghttp2_session_want_write(session->library);
}
