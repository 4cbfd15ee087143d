/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_response.c - response heads of HTTP/1
 */
#include "wire/http1_head_internal.h"

#include <string.h>

#define VERSION_LEN (sizeof("HTTP/1.1") - 1)
#define STATUS_LEN 3

static int parse_status(const char *digits)
{
	int status = 0;

	for (size_t i = 0; i < STATUS_LEN; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return -1;
		status = status * 10 + (digits[i] - '0');
	}
	return status >= 100 ? status : -1;
}

/* Version SP status SP reason; many servers leave out a space before nothing.
 */
static int parse_line(struct span line, struct http_response *out,
		      struct http_problem *problem)
{
	const size_t fixed = VERSION_LEN + 1 + STATUS_LEN;
	int status = -1;

	if (line.len >= fixed && line.bytes[VERSION_LEN] == ' ')
		status = parse_status(line.bytes + VERSION_LEN + 1);
	if (status < 0 || (line.len > fixed && line.bytes[fixed] != ' '))
		return http1_refuse(problem, 400, "malformed status line");
	if (http1_version_parse(span_over(line.bytes, VERSION_LEN),
				&out->minor) < 0)
		return http1_refuse(problem, 400, "unknown HTTP version");
	out->status = (uint16_t)status;
	if (line.len > fixed)
		out->reason = http_trim(span_over(line.bytes + fixed + 1,
						  line.len - fixed - 1));
	if (!http_is_value(out->reason))
		return http1_refuse(problem, 400, "malformed status line");
	return 0;
}

/* RFC 9112, 6.3: what status and request say comes before what fields say. */
static void settle_body(const struct http1_facts *facts, enum http_method asked,
			struct http_response *out)
{
	bool has_none =
		out->status < 200 || out->status == 204 || out->is_tunnel;

	if (has_none)
		return;
	out->body = facts->body;
	if (asked == HTTP_METHOD_HEAD || out->status == 304)
		out->body.kind = HTTP_BODY_NONE;
	else if (out->body.kind == HTTP_BODY_NONE)
		out->body.kind = HTTP_BODY_UNTIL_CLOSE;
}

static int parse(const void *bytes, size_t len, enum http_method asked,
		 struct http_response *out, struct http_problem *problem)
{
	struct span rest = span_over(bytes, len), line;
	struct http1_facts facts;

	if (len > HTTP1_HEAD_MAX)
		return http1_refuse(problem, 400, "head too long");
	if (!http1_next_line(&rest, &line))
		return http1_refuse(problem, 400, "bare CR or LF");
	if (parse_line(line, out, problem) < 0 ||
	    http1_fields_parse(rest, &out->fields, problem) < 0 ||
	    http1_facts_take(&out->fields, out->minor, &facts, problem) < 0)
		return -1;
	out->is_interim = out->status < 200 && out->status != 101;
	out->is_tunnel =
		out->status == 101 || (asked == HTTP_METHOD_CONNECT &&
				       out->status >= 200 && out->status < 300);
	settle_body(&facts, asked, out);
	out->keep_alive = !facts.close &&
			  (out->minor > 0 || facts.keep_alive) &&
			  out->body.kind != HTTP_BODY_UNTIL_CLOSE;
	if (out->status == 101 || out->status == 426)
		out->upgrade = facts.upgrade;
	return 0;
}

int http1_response_parse(const void *bytes, size_t len, enum http_method asked,
			 struct http_response *out,
			 struct http_problem *problem)
{
	memset(out, 0, offsetof(struct http_response, fields.list));
	if (parse(bytes, len, asked, out, problem) == 0)
		return 0;
	problem->status = 502;
	return -1;
}
