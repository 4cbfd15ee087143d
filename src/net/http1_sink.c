/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_sink.c - a body of HTTP/1 on its way out, chunked or as it is
 */
#include "net/http1_sink.h"

#include "net/end.h"
#include "wire/http1_encode.h"

/* A chunk's head and end, and the last chunk with its trailers. */
#define RESERVED (HTTP1_CHUNK_HEAD_MAX + 2 + HTTP1_TRAILERS_MAX + 16)

size_t http1_sink_space(const struct end *end, bool chunked)
{
	size_t space = end_space(end);

	if (!chunked)
		return space;
	return space > RESERVED ? space - RESERVED : 0;
}

void http1_sink_body(struct end *end, bool chunked, const void *bytes,
		     size_t len)
{
	char head[HTTP1_CHUNK_HEAD_MAX];

	/* An empty chunk would be the last one. */
	if (!len)
		return;
	if (chunked)
		end_write(end, head,
			  (size_t)http1_chunk_head_encode(len, head,
							  sizeof(head)));
	end_write(end, bytes, len);
	if (chunked)
		end_write(end, "\r\n", 2);
}

void http1_sink_end(struct end *end, bool chunked,
		    const struct http_fields *trailers)
{
	char bytes[HTTP1_TRAILERS_MAX + 16];
	int len;

	if (!chunked)
		return;
	len = http1_last_chunk_encode(trailers, bytes, sizeof(bytes));
	if (len < 0) /* they grew by being written again: none, then */
		len = http1_last_chunk_encode(NULL, bytes, sizeof(bytes));
	end_write(end, bytes, (size_t)len);
}
