/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.h - heads of HTTP/1.0 and HTTP/1.1, read strictly
 *
 * Whatever two parsers could read differently is refused: bare CR or LF,
 * folded lines, a space before the colon, control bytes, length and coding
 * together or twice, a coding other than `chunked`, two hosts that disagree, a
 * Host twice, lower-case methods. What is accepted is never passed on as it
 * came, but written again by http1_encode.h from what was understood. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/http_head.h"

#define HTTP1_HEAD_MAX 65536 /* bytes, with the empty line */
#define HTTP1_TRAILERS_MAX 8192
#define HTTP1_CONNECTION_TOKENS_MAX 16

/*
 * Where the head ends. Returns its length with the empty line; 0: more is
 * needed; -1 and the problem: it is too long, or has a line end that no head
 * may have. *scanned is 0 at first and then left alone until the head is whole,
 * so that a head in a thousand pieces is read once.
 */
int http1_head_length(const void *bytes, size_t len, size_t *scanned,
		      struct http_problem *problem);

/*
 * Of a whole head, as http1_head_length() measured it. The result borrows from
 * bytes. Returns 0, or -1 and the problem (400, 414, 417, 431, 501, 505).
 */
int http1_request_parse(const void *bytes, size_t len, struct http_request *out,
			struct http_problem *problem);

/*
 * The response to a request of that kind. Its problems have the status 502, the
 * fault being the server's.
 */
int http1_response_parse(const void *bytes, size_t len, enum http_method asked,
			 struct http_response *out,
			 struct http_problem *problem);

/*
 * The fields behind a chunked body, with the empty line at their end. Those
 * that would change what was already believed are refused.
 */
int http1_trailers_parse(const void *bytes, size_t len, struct http_fields *out,
			 struct http_problem *problem);
