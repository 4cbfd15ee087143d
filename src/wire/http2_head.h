/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_head.h - heads of HTTP/2, read as strictly as those of HTTP/1
 *
 * The same fields mean the same, are refused for the same reasons, and become
 * the same structs. Besides: pseudo-header fields once, first and only the
 * known ones (so no extended CONNECT, and no CONNECT at all), names in small
 * letters, nothing that belongs to a connection of HTTP/1. Pure.
 */
#pragma once

#include "wire/http2_block.h"
#include "wire/http_head.h"

/*
 * ends: no body follows. The result borrows from the block. Returns 0, or -1
 * and the problem (400, 414, 417, 431, 501).
 */
int http2_request_parse(const struct http2_block *block, bool ends,
			struct http_request *out, struct http_problem *problem);

/* The response to a request of that kind; problems have the status 502. */
int http2_response_parse(const struct http2_block *block,
			 enum http_method asked, bool ends,
			 struct http_response *out,
			 struct http_problem *problem);

/* Is this the head of a response that another one follows? */
bool http2_is_interim(const struct http2_block *block);

/* The same are refused as behind a chunked body of HTTP/1. */
int http2_trailers_parse(const struct http2_block *block,
			 struct http_fields *out, struct http_problem *problem);

/*
 * Into an empty block. -1: it does not fit, or the request does not say what
 * HTTP/2 needs (authority, scheme).
 */
int http2_request_encode(const struct http_request *request,
			 struct http2_block *out);
int http2_response_encode(const struct http_response *response,
			  struct http2_block *out);
int http2_trailers_encode(const struct http_fields *trailers,
			  struct http2_block *out);
