/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.c - one stream of HTTP/2: what came on it, and what leaves
 */
#include "net/h2_stream.h"

#include "net/gate.h"
#include "net/h2_session.h"
#include "net/http.h"
#include "net/limit.h"

static void count_memory(struct h2_stream *self)
{
	struct ends *ends = &self->session->gate->ends;
	struct http *http = self->session->http;
	size_t memory =
		self->in.size + self->out.size + self->trailers.bytes.len;

	for (unsigned i = 0; i < H2_STREAM_BLOCKS; i++)
		memory += self->blocks[i].bytes.len;
	ends->buffered += memory;
	ends->buffered -= self->memory;
	http->memory += memory;
	http->memory -= self->memory;
	self->memory = memory;
}

void h2_stream_init(struct h2_stream *stream, struct h2_session *session,
		    size_t in_max)
{
	*stream = (struct h2_stream){ .session = session };
	for (unsigned i = 0; i < H2_STREAM_BLOCKS; i++)
		http2_block_init(&stream->blocks[i]);
	http2_block_init_large(&stream->trailers);
	ring_init(&stream->in, in_max);
	ring_init(&stream->out, LIMIT_H2_OUT);
	list_append(&session->streams, &stream->link);
	session->count++;
}

void h2_stream_release(struct h2_stream *stream, uint32_t error)
{
	nghttp2_session *library = stream->session->library;

	if (stream->id && !stream->closed) {
		nghttp2_session_set_stream_user_data(library, stream->id, NULL);
		nghttp2_submit_rst_stream(library, NGHTTP2_FLAG_NONE,
					  stream->id, error);
	}
	/* What nobody will take must not count against the other streams. */
	if (stream->id && stream->in.len)
		nghttp2_session_consume(library, stream->id, stream->in.len);
	for (unsigned i = 0; i < H2_STREAM_BLOCKS; i++)
		http2_block_release(&stream->blocks[i]);
	http2_block_release(&stream->trailers);
	ring_release(&stream->in);
	ring_release(&stream->out);
	count_memory(stream);
	list_remove(&stream->link);
	stream->session->count--;
	stream->closed = true;
}

void h2_stream_next_block(struct h2_stream *stream)
{
	http2_block_release(&stream->blocks[0]);
	for (unsigned i = 1; i < H2_STREAM_BLOCKS; i++)
		stream->blocks[i - 1] = stream->blocks[i];
	http2_block_init(&stream->blocks[H2_STREAM_BLOCKS - 1]);
	stream->block_count--;
	count_memory(stream);
}

void h2_stream_expect(struct h2_stream *stream, const struct http_body *body)
{
	stream->has_length =
		body->kind == HTTP_BODY_LENGTH || body->kind == HTTP_BODY_NONE;
	stream->body_left = body->kind == HTTP_BODY_LENGTH ? body->length : 0;
}

enum h2_stream_result h2_stream_read(struct h2_stream *stream, size_t room,
				     struct span *out)
{
	struct iovec iov[2];

	if (!ring_readable(&stream->in, iov)) {
		if (!stream->in_end)
			return H2_STREAM_NOTHING;
		return stream->has_length && stream->body_left ? H2_STREAM_BAD
							       : H2_STREAM_END;
	}
	*out = span_over(iov[0].iov_base,
			 iov[0].iov_len < room ? iov[0].iov_len : room);
	if (stream->has_length && out->len > stream->body_left)
		return H2_STREAM_BAD;
	return H2_STREAM_BYTES;
}

void h2_stream_take(struct h2_stream *stream, size_t len)
{
	if (stream->has_length)
		stream->body_left -= len;
	ring_consume(&stream->in, len);
	ring_trim(&stream->in);
	count_memory(stream);
	nghttp2_session_consume(stream->session->library, stream->id, len);
}

void h2_stream_on_field(struct h2_stream *stream, struct span name,
			struct span value)
{
	(void)http2_block_add(&stream->blocks[stream->block_count], name,
			      value);
	count_memory(stream);
}

void h2_stream_on_bytes(struct h2_stream *stream, const void *bytes, size_t len)
{
	/* The window is as large as the ring, or the library has a bug. */
	if (ring_write(&stream->in, bytes, len) < len)
		stream->malformed = true;
	count_memory(stream);
}

size_t h2_stream_space(const struct h2_stream *stream)
{
	return ring_space(&stream->out);
}

static void resume(struct h2_stream *stream)
{
	if (!stream->waits || stream->closed)
		return;
	stream->waits = false;
	nghttp2_session_resume_data(stream->session->library, stream->id);
}

void h2_stream_write(struct h2_stream *stream, const void *bytes, size_t len)
{
	if (stream->closed)
		return;
	ring_write(&stream->out, bytes, len);
	count_memory(stream);
	resume(stream);
}

void h2_stream_finish(struct h2_stream *stream,
		      const struct http_fields *trailers)
{
	if (trailers && http2_trailers_encode(trailers, &stream->trailers) < 0)
		http2_block_release(&stream->trailers);
	stream->out_end = true;
	count_memory(stream);
	resume(stream);
}

/* Behind the last byte; only there does the library take them. */
static void end_with_trailers(struct h2_stream *self, uint32_t *flags)
{
	nghttp2_nv fields[H2_FIELDS_MAX];
	size_t count = h2_stream_fields(&self->trailers, fields);

	if (count && nghttp2_submit_trailer(self->session->library, self->id,
					    fields, count) == 0)
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
}

static ssize_t provide(nghttp2_session *library, int32_t id, uint8_t *buf,
		       size_t len, uint32_t *flags, nghttp2_data_source *source,
		       void *ctx)
{
	struct h2_stream *self =
		nghttp2_session_get_stream_user_data(library, id);
	struct iovec iov[2];
	size_t done = 0;
	int count;

	if (!self)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	count = ring_readable(&self->out, iov);
	for (int i = 0; i < count && done < len; i++) {
		size_t part = iov[i].iov_len < len - done ? iov[i].iov_len
							  : len - done;

		memcpy(buf + done, iov[i].iov_base, part);
		done += part;
	}
	ring_consume(&self->out, done);
	ring_trim(&self->out);
	count_memory(self);
	if (self->out_end && !self->out.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		end_with_trailers(self, flags);
	} else if (!done) {
		self->waits = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)done;
}

const nghttp2_data_provider h2_stream_provider = { .read_callback = provide };

/* Whoever packs them may not keep these in a table. */
static bool is_secret(struct span name)
{
	return span_is(name, "authorization") || span_is(name, "cookie") ||
	       span_is(name, "x-api-key");
}

size_t h2_stream_fields(const struct http2_block *block,
			nghttp2_nv out[H2_FIELDS_MAX])
{
	struct http_field field;
	size_t at = 0, count = 0;

	while (count < H2_FIELDS_MAX && http2_block_next(block, &at, &field)) {
		/* The library copies them, and wants no const. */
		out[count++] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)field.name.bytes,
			.namelen = field.name.len,
			.value = (uint8_t *)(uintptr_t)field.value.bytes,
			.valuelen = field.value.len,
			.flags = is_secret(field.name)
					 ? NGHTTP2_NV_FLAG_NO_INDEX
					 : NGHTTP2_NV_FLAG_NONE,
		};
	}
	return count;
}
