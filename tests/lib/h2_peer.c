/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_peer.c - a peer of HTTP/2 that a test plays, and what it saw
 */
#include "lib/h2_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "lib/http_world.h"

#define FIELDS_MAX 160

static struct peer_stream *stream_of(struct h2_peer *peer, int32_t id)
{
	for (unsigned i = 0; i < peer->stream_count; i++) {
		if (peer->streams[i].id == id)
			return &peer->streams[i];
	}
	if (peer->stream_count == PEER_STREAMS)
		abort();
	peer->streams[peer->stream_count].id = id;
	return &peer->streams[peer->stream_count++];
}

static void append(struct peer_stream *stream, const char *text, size_t len)
{
	size_t used = strlen(stream->head);

	if (len > sizeof(stream->head) - 1 - used)
		len = sizeof(stream->head) - 1 - used;
	memcpy(stream->head + used, text, len);
	stream->head[used + len] = '\0';
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
		     const uint8_t *name, size_t name_len, const uint8_t *value,
		     size_t value_len, uint8_t flags, void *ctx)
{
	struct peer_stream *stream = stream_of(ctx, frame->hd.stream_id);

	append(stream, (const char *)name, name_len);
	append(stream, ": ", 2);
	append(stream, (const char *)value, value_len);
	append(stream, "\n", 1);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
		    void *ctx)
{
	struct h2_peer *peer = ctx;

	if (frame->hd.type == NGHTTP2_HEADERS)
		append(stream_of(peer, frame->hd.stream_id), "--\n", 3);
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		peer->went_away = true;
		peer->goaway_error = frame->goaway.error_code;
	}
	if ((frame->hd.type == NGHTTP2_HEADERS ||
	     frame->hd.type == NGHTTP2_DATA) &&
	    frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		stream_of(peer, frame->hd.stream_id)->ended = true;
	return 0;
}

static int on_bytes(nghttp2_session *session, uint8_t flags, int32_t id,
		    const uint8_t *bytes, size_t len, void *ctx)
{
	struct h2_peer *peer = ctx;
	struct peer_stream *stream = stream_of(peer, id);

	for (size_t i = 0; i < len; i++, stream->body_len++) {
		if (stream->body_len < sizeof(stream->body) - 1)
			stream->body[stream->body_len] = (char)bytes[i];
	}
	if (peer->holds)
		stream->untaken += len;
	else
		nghttp2_session_consume(session, id, len);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error,
		    void *ctx)
{
	struct peer_stream *stream = stream_of(ctx, id);

	stream->closed = true;
	stream->error = error;
	return 0;
}

struct h2_peer *peer_new(int fd, bool is_server)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 150 }
	};
	struct h2_peer *peer = xcalloc(1, sizeof(*peer));
	nghttp2_session_callbacks *set;
	nghttp2_option *options;

	peer->fd = fd;
	peer->is_server = is_server;
	nghttp2_session_callbacks_new(&set);
	nghttp2_option_new(&options);
	nghttp2_option_set_no_auto_window_update(options, 1);
	nghttp2_option_set_max_send_header_block_length(options, 1u << 20);
	/* Tests say what nobody may say. */
	nghttp2_option_set_no_http_messaging(options, 1);
	nghttp2_session_callbacks_set_on_header_callback(set, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(set, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(set,
								  on_bytes);
	nghttp2_session_callbacks_set_on_stream_close_callback(set, on_close);
	if (is_server)
		nghttp2_session_server_new2(&peer->session, set, peer, options);
	else
		nghttp2_session_client_new2(&peer->session, set, peer, options);
	nghttp2_session_callbacks_del(set);
	nghttp2_option_del(options);
	nghttp2_submit_settings(peer->session, 0, settings, is_server ? 1 : 0);
	return peer;
}

void peer_free(struct h2_peer *peer)
{
	if (!peer)
		return;
	nghttp2_session_del(peer->session);
	close(peer->fd);
	free(peer);
}

void peer_pump(struct h2_peer *peer)
{
	uint8_t bytes[16384];
	const uint8_t *frame;
	ssize_t n;

	while ((n = recv(peer->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		nghttp2_session_mem_recv(peer->session, bytes, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		peer->gone = true;
	while ((n = nghttp2_session_mem_send(peer->session, &frame)) > 0) {
		if (send(peer->fd, frame, (size_t)n, MSG_NOSIGNAL) != n) {
			peer->gone = true;
			break;
		}
		world_step();
	}
}

void peer_settle(struct h2_peer *peer, struct h2_peer *other)
{
	for (int i = 0; i < 8; i++) {
		peer_pump(peer);
		world_step();
		if (other)
			peer_pump(other);
		world_step();
	}
}

static size_t make_fields(const char *const *fields, nghttp2_nv *out)
{
	size_t count = 0;

	for (; fields[0]; fields += 2)
		out[count++] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)fields[0],
			.namelen = strlen(fields[0]),
			.value = (uint8_t *)(uintptr_t)fields[1],
			.valuelen = strlen(fields[1]),
		};
	return count;
}

static ssize_t provide(nghttp2_session *session, int32_t id, uint8_t *buf,
		       size_t len, uint32_t *flags, nghttp2_data_source *source,
		       void *ctx)
{
	struct peer_stream *stream = stream_of(ctx, id);
	size_t part = stream->count < len ? stream->count : len;

	if (!part && stream->held)
		return NGHTTP2_ERR_DEFERRED;
	if (stream->text) {
		memcpy(buf, stream->text, part);
		stream->text += part;
	} else {
		memset(buf, 'x', part);
	}
	stream->count -= part;
	if (!stream->count && !stream->held) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (stream->trailer) {
			const char *const fields[] = { "x-trailer",
						       stream->trailer, NULL };
			nghttp2_nv list[1];

			make_fields(fields, list);
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			nghttp2_submit_trailer(session, id, list, 1);
		}
	}
	return (ssize_t)part;
}

static const nghttp2_data_provider provider = { .read_callback = provide };

static void use_text(struct peer_stream *stream, const char *text,
		     const char *trailer)
{
	stream->text = text;
	stream->count = text ? strlen(text) : 0;
	stream->trailer = trailer;
	stream->held = trailer && strcmp(trailer, "held") == 0;
	if (stream->held)
		stream->trailer = NULL;
}

struct peer_stream *peer_ask(struct h2_peer *peer, const char *const *fields,
			     const char *text, const char *trailer)
{
	nghttp2_nv list[FIELDS_MAX];
	size_t count = make_fields(fields, list);
	int32_t id = nghttp2_submit_request(peer->session, NULL, list, count,
					    text ? &provider : NULL, NULL);
	struct peer_stream *stream = stream_of(peer, id);

	use_text(stream, text, trailer);
	return stream;
}

void peer_answer(struct h2_peer *peer, struct peer_stream *stream,
		 const char *const *fields, const char *text,
		 const char *trailer)
{
	nghttp2_nv list[FIELDS_MAX];
	size_t count = make_fields(fields, list);

	use_text(stream, text, trailer);
	nghttp2_submit_response(peer->session, stream->id, list, count,
				text ? &provider : NULL);
}

void peer_inform(struct h2_peer *peer, struct peer_stream *stream,
		 const char *status)
{
	const char *const fields[] = { ":status", status, NULL };
	nghttp2_nv list[1];

	make_fields(fields, list);
	nghttp2_submit_headers(peer->session, 0, stream->id, NULL, list, 1,
			       NULL);
}

void peer_answer_bytes(struct h2_peer *peer, struct peer_stream *stream,
		       size_t count)
{
	static const char *const fields[] = { ":status", "200", NULL };

	peer_answer(peer, stream, fields, "", NULL);
	stream->text = NULL;
	stream->count = count;
}

void peer_go_on(struct h2_peer *peer, struct peer_stream *stream,
		const char *text, bool last)
{
	stream->text = text;
	stream->count = strlen(text);
	stream->held = !last;
	nghttp2_session_resume_data(peer->session, stream->id);
}

void peer_reset(struct h2_peer *peer, const struct peer_stream *stream,
		uint32_t error)
{
	nghttp2_submit_rst_stream(peer->session, 0, stream->id, error);
}

void peer_take(struct h2_peer *peer)
{
	for (unsigned i = 0; i < peer->stream_count; i++) {
		struct peer_stream *stream = &peer->streams[i];

		if (stream->untaken)
			nghttp2_session_consume(peer->session, stream->id,
						stream->untaken);
		stream->untaken = 0;
	}
}
