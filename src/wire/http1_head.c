/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.c - where a head ends, and its lines
 */
#include "wire/http1_head_internal.h"

#include <string.h>

int http1_refuse(struct http_problem *problem, uint16_t status,
		 const char *text)
{
	*problem = (struct http_problem){ status, text };
	return -1;
}

int http1_head_length(const void *bytes, size_t len, size_t *scanned,
		      struct http_problem *problem)
{
	const char *text = bytes;
	size_t limit = len < HTTP1_HEAD_MAX ? len : HTTP1_HEAD_MAX;

	while (*scanned < limit) {
		const char *end =
			memchr(text + *scanned, '\n', limit - *scanned);
		size_t at = end ? (size_t)(end - text) : limit;

		if (!end) {
			*scanned = limit;
			break;
		}
		if (at == 0 || text[at - 1] != '\r')
			return http1_refuse(problem, 400, "bare LF");
		if (at == 1)
			return http1_refuse(problem, 400, "empty line first");
		if (at >= 3 && text[at - 2] == '\n')
			return (int)at + 1;
		*scanned = at + 1;
	}
	if (len >= HTTP1_HEAD_MAX)
		return http1_refuse(problem, 431, "head too long");
	return 0;
}

bool http1_next_line(struct span *rest, struct span *line)
{
	const char *cr =
		rest->len ? memchr(rest->bytes, '\r', rest->len) : NULL;
	size_t len = cr ? (size_t)(cr - rest->bytes) : rest->len;

	if (!cr || rest->len - len < 2 || cr[1] != '\n' ||
	    memchr(rest->bytes, '\n', len))
		return false;
	*line = span_over(rest->bytes, len);
	*rest = span_over(rest->bytes + len + 2, rest->len - len - 2);
	return true;
}

/* Field names end at a colon and nothing else: `Host : a` is nobody's host. */
static int parse_field(struct span line, struct http_fields *out,
		       struct http_problem *problem)
{
	const char *colon = memchr(line.bytes, ':', line.len);
	struct span name, value;

	if (line.bytes[0] == ' ' || line.bytes[0] == '\t')
		return http1_refuse(problem, 400, "folded line");
	if (!colon)
		return http1_refuse(problem, 400, "line without colon");
	name = span_over(line.bytes, (size_t)(colon - line.bytes));
	value = span_over(colon + 1, line.len - name.len - 1);
	if (out->count == HTTP_FIELDS_MAX)
		return http1_refuse(problem, 431, "too many fields");
	if (!http_is_token(name))
		return http1_refuse(problem, 400, "malformed field name");
	if (http_fields_add(out, name, value) < 0)
		return http1_refuse(problem, 400, "malformed field value");
	return 0;
}

int http1_fields_parse(struct span rest, struct http_fields *out,
		       struct http_problem *problem)
{
	struct span line;

	http_fields_init(out);
	for (;;) {
		if (!http1_next_line(&rest, &line))
			return http1_refuse(problem, 400, "bare CR or LF");
		if (line.len == 0)
			break;
		if (parse_field(line, out, problem) < 0)
			return -1;
	}
	if (rest.len > 0)
		return http1_refuse(problem, 400, "bytes behind the head");
	return 0;
}

int http1_version_parse(struct span text, uint8_t *minor)
{
	if (!span_is(text, "HTTP/1.0") && !span_is(text, "HTTP/1.1"))
		return -1;
	*minor = (uint8_t)(text.bytes[text.len - 1] - '0');
	return 0;
}

int http1_trailers_check(const struct http_fields *fields,
			 struct http_problem *problem)
{
	static const char *const refused[] = {
		"authorization", "cookie",           "set-cookie",
		"content-type",  "content-encoding", "content-range",
		"location",      "www-authenticate",
	};

	for (size_t i = 0; i < fields->count; i++) {
		if (http1_is_framing(fields->list[i].name))
			return http1_refuse(problem, 400,
					    "framing in trailers");
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (http_fields_find(fields, refused[i], NULL))
			return http1_refuse(problem, 400,
					    "field not allowed in trailers");
	}
	return 0;
}

int http1_trailers_parse(const void *bytes, size_t len, struct http_fields *out,
			 struct http_problem *problem)
{
	if (len > HTTP1_TRAILERS_MAX)
		return http1_refuse(problem, 431, "trailers too long");
	if (http1_fields_parse(span_over(bytes, len), out, problem) < 0)
		return -1;
	return http1_trailers_check(out, problem);
}
