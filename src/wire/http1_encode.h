/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_encode.h - heads of HTTP/1.1 and chunks, written from their meaning
 *
 * The version is always 1.1, Host comes first, framing and connection fields
 * are ours. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/http1_head.h"

/* Room for whatever a parsed head can become. */
#define HTTP1_ENCODED_MAX (HTTP1_HEAD_MAX + 1024)
#define HTTP1_CHUNK_HEAD_MAX 20 /* size and CRLF */

enum http1_encode_flags {
	HTTP1_CLOSE = 1,      /* this connection ends after the message */
	HTTP1_KEEP_ALIVE = 2, /* say so: the other side speaks HTTP/1.0 */
	HTTP1_UPGRADE = 4,    /* pass on the wish to change the protocol */
	HTTP1_ABSOLUTE = 8,   /* for a proxy: the scheme must be known */
};

/*
 * Returns the length, or -1: it does not fit, or the request does not say what
 * this form needs (authority, scheme).
 */
int http1_request_encode(const struct http_request *request, unsigned flags,
			 void *out, size_t size);
int http1_response_encode(const struct http_response *response, unsigned flags,
			  void *out, size_t size);

/* What stands before the bytes of a chunk; behind them comes CRLF. */
int http1_chunk_head_encode(size_t chunk_len, void *out, size_t size);
/* The last chunk with trailers, or with none (NULL). */
int http1_last_chunk_encode(const struct http_fields *trailers, void *out,
			    size_t size);
