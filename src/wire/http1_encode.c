/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_encode.c - heads of HTTP/1.1 and chunks, written from their meaning
 */
#include "wire/http1_encode.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "proto/cursor.h"

static void put_span(struct writer *w, struct span text)
{
	writer_bytes(w, text.bytes, text.len);
}

static void put(struct writer *w, const char *text)
{
	put_span(w, span_of(text));
}

static void put_number(struct writer *w, uint64_t number)
{
	char text[24];

	(void)text_format(text, sizeof(text), "%" PRIu64, number);
	put(w, text);
}

static void put_fields(struct writer *w, const struct http_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		put_span(w, fields->list[i].name);
		put(w, ": ");
		put_span(w, fields->list[i].value);
		put(w, "\r\n");
	}
}

static void put_body(struct writer *w, const struct http_body *body)
{
	if (body->kind == HTTP_BODY_CHUNKED) {
		put(w, "Transfer-Encoding: chunked\r\n");
	} else if (body->has_length) {
		put(w, "Content-Length: ");
		put_number(w, body->length);
		put(w, "\r\n");
	}
}

/* The fields that Connection names, and it. */
static void put_connection(struct writer *w, unsigned flags,
			   struct span upgrade, bool trailers)
{
	const char *separator = "Connection: ";
	const struct {
		bool wanted;
		const char *token;
	} tokens[] = {
		{ flags & HTTP1_CLOSE, "close" },
		{ flags & HTTP1_KEEP_ALIVE, "keep-alive" },
		{ trailers, "TE" },
		{ (flags & HTTP1_UPGRADE) && upgrade.len, "Upgrade" },
	};

	if (tokens[3].wanted) {
		put(w, "Upgrade: ");
		put_span(w, upgrade);
		put(w, "\r\n");
	}
	if (trailers)
		put(w, "TE: trailers\r\n");
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		if (!tokens[i].wanted)
			continue;
		put(w, separator);
		put(w, tokens[i].token);
		separator = ", ";
	}
	if (separator[0] == ',')
		put(w, "\r\n");
}

static int finish(struct writer *w)
{
	put(w, "\r\n");
	return w->bad ? -1 : (int)writer_len(w);
}

static void put_target(struct writer *w, const struct http_request *request,
		       const char *host, unsigned flags)
{
	if (request->target == HTTP_TARGET_AUTHORITY) {
		put(w, host);
		return;
	}
	if (flags & HTTP1_ABSOLUTE) {
		put(w, request->scheme == HTTP_SCHEME_HTTPS ? "https://"
							    : "http://");
		put(w, host);
		/* RFC 9112, 3.2.4: the asterisk is the empty path there. */
		if (span_is(request->path, "*"))
			return;
	}
	put_span(w, request->path);
}

int http1_request_encode(const struct http_request *request, unsigned flags,
			 void *out, size_t size)
{
	struct writer w = writer_over(out, size);
	char host[AUTHORITY_TEXT_SIZE];

	if (!request->has_authority ||
	    ((flags & HTTP1_ABSOLUTE) && request->scheme == HTTP_SCHEME_NONE))
		return -1;
	authority_format(&request->authority, host);
	put_span(&w, request->method);
	put(&w, " ");
	put_target(&w, request, host, flags);
	put(&w, " HTTP/1.1\r\nHost: ");
	put(&w, host);
	put(&w, "\r\n");
	put_fields(&w, &request->fields);
	if (request->expects_continue)
		put(&w, "Expect: 100-continue\r\n");
	put_body(&w, &request->body);
	put_connection(&w, flags, request->upgrade, request->accepts_trailers);
	return finish(&w);
}

int http1_response_encode(const struct http_response *response, unsigned flags,
			  void *out, size_t size)
{
	struct writer w = writer_over(out, size);

	put(&w, "HTTP/1.1 ");
	put_number(&w, response->status);
	put(&w, " ");
	put_span(&w, response->reason);
	put(&w, "\r\n");
	put_fields(&w, &response->fields);
	put_body(&w, &response->body);
	put_connection(&w, flags, response->upgrade, false);
	return finish(&w);
}

int http1_chunk_head_encode(size_t chunk_len, void *out, size_t size)
{
	struct writer w = writer_over(out, size);
	char text[HTTP1_CHUNK_HEAD_MAX + 1];

	(void)text_format(text, sizeof(text), "%zx\r\n", chunk_len);
	put(&w, text);
	return w.bad ? -1 : (int)writer_len(&w);
}

int http1_last_chunk_encode(const struct http_fields *trailers, void *out,
			    size_t size)
{
	struct writer w = writer_over(out, size);

	put(&w, "0\r\n");
	if (trailers)
		put_fields(&w, trailers);
	return finish(&w);
}
