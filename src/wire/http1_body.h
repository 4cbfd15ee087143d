/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body.h - where the body of an HTTP/1 message ends
 *
 * Bytes go in as they come; out come the content and the number of bytes that
 * belong to the message, so that the next message on the same connection begins
 * where we say and nowhere else. Chunk extensions are read past and dropped;
 * sizes, line ends and trailers are strict. Pure, and keeps no byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/http1_head.h"

#define HTTP1_CHUNK_DIGITS_MAX 16     /* leading zeros count */
#define HTTP1_CHUNK_EXTENSION_MAX 256 /* bytes in one chunk's line */

enum http1_body_result {
	/*
	 * All that can be taken is taken. What was not (a part of the
	 * trailers) must be given again, with more behind it.
	 */
	HTTP1_BODY_MORE,
	HTTP1_BODY_CONTENT, /* some; call again, even with nothing new */
	HTTP1_BODY_DONE,    /* the message ends here */
	HTTP1_BODY_BAD,     /* `problem`; nothing after it makes sense */
};

struct http1_body {
	enum http_body_kind kind;
	int state;      /* private, like all below */
	uint64_t left;  /* of the content or the chunk */
	unsigned count; /* digits, or bytes of extensions, in this line */
	uint64_t total; /* content so far: readable */
};

struct http1_piece {
	size_t taken;         /* bytes of the input that are done with */
	struct span content;  /* inside them; may be empty */
	struct span trailers; /* with DONE: for http1_trailers_parse() */
	const char *problem;  /* with BAD; static */
};

void http1_body_init(struct http1_body *body, const struct http_body *framing);

enum http1_body_result http1_body_read(struct http1_body *body,
				       const void *bytes, size_t len,
				       struct http1_piece *out);

/* May the connection end here? 0: yes, the body is whole; -1: it is cut. */
int http1_body_end(const struct http1_body *body);
