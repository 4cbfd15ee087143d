/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_encode.c - heads of HTTP/2, made from their meaning
 */
#include "wire/http2_head.h"

#include <inttypes.h>

#include "base/text.h"

/* A block that was too large once stays so: only the last result counts. */
static int put(struct http2_block *out, const char *name, struct span value)
{
	return http2_block_add(out, span_of(name), value);
}

static int put_fields(struct http2_block *out, const struct http_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		(void)http2_block_add_small(out, fields->list[i].name,
					    fields->list[i].value);
	return out->too_large ? -1 : 0;
}

static int put_number(struct http2_block *out, const char *name,
		      uint64_t number)
{
	char text[24];

	(void)text_format(text, sizeof(text), "%" PRIu64, number);
	return put(out, name, span_of(text));
}

static int put_length(struct http2_block *out, const struct http_body *body)
{
	if (body->kind == HTTP_BODY_CHUNKED || !body->has_length)
		return out->too_large ? -1 : 0;
	return put_number(out, "content-length", body->length);
}

int http2_request_encode(const struct http_request *request,
			 struct http2_block *out)
{
	bool secure = request->scheme == HTTP_SCHEME_HTTPS;
	char host[AUTHORITY_TEXT_SIZE];

	if (!request->has_authority || request->scheme == HTTP_SCHEME_NONE ||
	    request->method_kind == HTTP_METHOD_CONNECT)
		return -1;
	authority_format(&request->authority, host);
	(void)put(out, ":method", request->method);
	(void)put(out, ":scheme", span_of(secure ? "https" : "http"));
	(void)put(out, ":authority", span_of(host));
	(void)put(out, ":path", request->path);
	(void)put_fields(out, &request->fields);
	if (request->expects_continue)
		(void)put(out, "expect", span_of("100-continue"));
	if (request->accepts_trailers)
		(void)put(out, "te", span_of("trailers"));
	return put_length(out, &request->body);
}

int http2_response_encode(const struct http_response *response,
			  struct http2_block *out)
{
	(void)put_number(out, ":status", response->status);
	(void)put_fields(out, &response->fields);
	return put_length(out, &response->body);
}

int http2_trailers_encode(const struct http_fields *trailers,
			  struct http2_block *out)
{
	return put_fields(out, trailers);
}
