/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body.c - where the body of an HTTP/1 message ends
 */
#include "wire/http1_body.h"

#include <string.h>

enum {
	CONTENT,       /* `left` bytes of it follow; with CHUNKED of a chunk */
	SIZE,          /* digits of a chunk's size */
	EXTENSION,     /* behind a semicolon, up to CR */
	SIZE_END,      /* LF behind the size's CR */
	CHUNK_END,     /* CR behind a chunk */
	CHUNK_END_END, /* LF behind that */
	TRAILERS,      /* behind the last chunk, up to an empty line */
	DONE,
	FAILED, /* for good */
};

void http1_body_init(struct http1_body *body, const struct http_body *framing)
{
	*body = (struct http1_body){ .kind = framing->kind };
	switch (framing->kind) {
	case HTTP_BODY_NONE:
		body->state = DONE;
		break;
	case HTTP_BODY_LENGTH:
		body->left = framing->length;
		body->state = framing->length ? CONTENT : DONE;
		break;
	case HTTP_BODY_CHUNKED:
		body->state = SIZE;
		break;
	case HTTP_BODY_UNTIL_CLOSE:
		body->left = UINT64_MAX;
		body->state = CONTENT;
		break;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = span_small(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *read_size(struct http1_body *body, char c)
{
	int digit = hex_digit(c);

	if (digit >= 0) {
		if (body->count++ == HTTP1_CHUNK_DIGITS_MAX ||
		    body->left > INT64_MAX >> 4)
			return "chunk size too large";
		body->left = body->left << 4 | (unsigned)digit;
		return NULL;
	}
	if (body->count == 0 || (c != ';' && c != '\r'))
		return "malformed chunk size";
	body->count = 0;
	body->state = c == ';' ? EXTENSION : SIZE_END;
	return NULL;
}

static const char *read_extension(struct http1_body *body, char c)
{
	if (c == '\r') {
		body->state = SIZE_END;
		return NULL;
	}
	if (!http_is_value(span_over(&c, 1)))
		return "malformed chunk extension";
	return body->count++ < HTTP1_CHUNK_EXTENSION_MAX
		       ? NULL
		       : "chunk extension too long";
}

static const char *expect(struct http1_body *body, char c, char wanted,
			  int next)
{
	body->state = next;
	return c == wanted ? NULL : "malformed end of a chunk's line";
}

static bool is_framing(int state)
{
	return state > CONTENT && state < TRAILERS;
}

/* One byte that is neither content nor trailer. NULL or the problem. */
static const char *read_framing(struct http1_body *body, char c)
{
	switch (body->state) {
	case SIZE:
		return read_size(body, c);
	case EXTENSION:
		return read_extension(body, c);
	case SIZE_END:
		return expect(body, c, '\n', body->left ? CONTENT : TRAILERS);
	case CHUNK_END:
		return expect(body, c, '\r', CHUNK_END_END);
	default:
		body->count = 0;
		return expect(body, c, '\n', SIZE);
	}
}

static enum http1_body_result fail(struct http1_body *body,
				   struct http1_piece *out, const char *problem)
{
	body->state = FAILED;
	out->problem = problem;
	return HTTP1_BODY_BAD;
}

static void read_content(struct http1_body *body, const char *bytes, size_t len,
			 struct http1_piece *out)
{
	size_t take = len < body->left ? len : (size_t)body->left;

	out->content = span_over(bytes, take);
	out->taken += take;
	body->total += take;
	if (body->kind == HTTP_BODY_UNTIL_CLOSE)
		return;
	body->left -= take;
	if (body->left == 0)
		body->state =
			body->kind == HTTP_BODY_CHUNKED ? CHUNK_END : DONE;
}

/* Their length with the empty line; 0: more is needed; -1: too long. */
static int trailers_length(const char *bytes, size_t len)
{
	const char *end = NULL;

	if (len >= 2 && memcmp(bytes, "\r\n", 2) == 0)
		return 2;
	if (len > 0)
		end = memmem(bytes, len, "\r\n\r\n", 4);
	if (end && end - bytes + 4 <= HTTP1_TRAILERS_MAX)
		return (int)(end - bytes) + 4;
	return end || len >= HTTP1_TRAILERS_MAX ? -1 : 0;
}

static enum http1_body_result read_trailers(struct http1_body *body,
					    const char *bytes, size_t len,
					    struct http1_piece *out)
{
	int size = trailers_length(bytes, len);

	if (size < 0)
		return fail(body, out, "trailers too long");
	if (size == 0)
		return HTTP1_BODY_MORE;
	out->trailers = span_over(bytes, (size_t)size);
	out->taken += (size_t)size;
	body->state = DONE;
	return HTTP1_BODY_DONE;
}

enum http1_body_result http1_body_read(struct http1_body *body,
				       const void *bytes, size_t len,
				       struct http1_piece *out)
{
	const char *text = len ? bytes : "";
	const char *problem = NULL;

	*out = (struct http1_piece){ 0 };
	if (body->state == FAILED)
		return fail(body, out, "the body was malformed before");
	while (out->taken < len && is_framing(body->state) && !problem)
		problem = read_framing(body, text[out->taken++]);
	if (problem)
		return fail(body, out, problem);
	if (body->state == TRAILERS)
		return read_trailers(body, text + out->taken, len - out->taken,
				     out);
	if (body->state == CONTENT && out->taken < len)
		read_content(body, text + out->taken, len - out->taken, out);
	if (out->content.len > 0)
		return HTTP1_BODY_CONTENT;
	return body->state == DONE ? HTTP1_BODY_DONE : HTTP1_BODY_MORE;
}

int http1_body_end(const struct http1_body *body)
{
	return body->state == DONE || body->kind == HTTP_BODY_UNTIL_CLOSE ? 0
									  : -1;
}
