/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_stream.h - one stream of HTTP/2: what came on it, and what leaves
 *
 * What comes waits here until the codec takes it, and only then is the peer
 * granted more; what leaves waits until the peer and the end beneath take it.
 * The library calls in, but is never called back into: all that can end a
 * connection happens between its calls.
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/ring.h"
#include "wire/http2_head.h"

struct h2_session;

/* Heads that nobody looked at yet: interim ones, the final one, trailers. */
#define H2_STREAM_BLOCKS 4

struct h2_stream {
	struct h2_session *session;
	struct list link; /* of the session */
	int32_t id;

	struct http2_block blocks[H2_STREAM_BLOCKS]; /* first come first */
	unsigned block_count;                        /* those that are whole */
	bool has_head;      /* the final head came: trailers may follow */
	bool has_trailers;  /* the last block */
	bool ends_at_head;  /* no body follows the final head */
	bool malformed;     /* a field that nobody may send */
	struct ring in;     /* of the body */
	bool in_end;        /* nothing follows */
	uint64_t body_left; /* of a body with a length */
	bool has_length;

	struct ring out;
	bool out_begun, out_end;
	bool waits; /* the library asked for bytes in vain */
	struct http2_block trailers;

	bool closed; /* the library knows it no more */
	uint32_t error;
	size_t memory; /* as counted in ends, and in http */
};

enum h2_stream_result {
	H2_STREAM_NOTHING, /* now */
	H2_STREAM_BYTES,   /* of the body, see h2_stream_take() */
	H2_STREAM_END, /* all was taken; trailers may be in the last block */
	H2_STREAM_BAD, /* more or less than was announced */
};

/* In the session's list from now on. in_max: what the peer may send ahead. */
void h2_stream_init(struct h2_stream *stream, struct h2_session *session,
		    size_t in_max);
/* Resets it when it is not closed; the codec frees its memory. */
void h2_stream_release(struct h2_stream *stream, uint32_t error);
/* The first block was used. */
void h2_stream_next_block(struct h2_stream *stream);
/* What the head said of the body; checked as it is read. */
void h2_stream_expect(struct h2_stream *stream, const struct http_body *body);
/* The next bytes, at most `room`, which is not 0. */
enum h2_stream_result h2_stream_read(struct h2_stream *stream, size_t room,
				     struct span *out);
void h2_stream_take(struct h2_stream *stream, size_t len);

size_t h2_stream_space(const struct h2_stream *stream);
void h2_stream_write(struct h2_stream *stream, const void *bytes, size_t len);
/* With trailers, or none (NULL). */
void h2_stream_finish(struct h2_stream *stream,
		      const struct http_fields *trailers);

/* For the library. */
extern const nghttp2_data_provider h2_stream_provider;
#define H2_FIELDS_MAX (HTTP2_BLOCK_FIELDS_MAX)
size_t h2_stream_fields(const struct http2_block *block,
			nghttp2_nv out[H2_FIELDS_MAX]);
/* From the session's callbacks. */
void h2_stream_on_field(struct h2_stream *stream, struct span name,
			struct span value);
void h2_stream_on_bytes(struct h2_stream *stream, const void *bytes,
			size_t len);
