/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_request.c - request heads of HTTP/1
 */
#include "wire/http1_head_internal.h"

#include <string.h>

#define PORT_HTTP 80
#define PORT_HTTPS 443

/* Takes scheme:// off the front. */
static enum http_scheme take_scheme(struct span *text)
{
	static const struct {
		const char *prefix;
		enum http_scheme scheme;
	} schemes[] = {
		{ "http://", HTTP_SCHEME_HTTP },
		{ "https://", HTTP_SCHEME_HTTPS },
	};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i].prefix);

		if (text->len < len ||
		    !span_matches_text(span_over(text->bytes, len),
				       schemes[i].prefix))
			continue;
		*text = span_over(text->bytes + len, text->len - len);
		return schemes[i].scheme;
	}
	return HTTP_SCHEME_NONE;
}

static int parse_absolute(struct span text, struct http_request *out,
			  struct http_problem *problem)
{
	size_t len = 0;

	out->target = HTTP_TARGET_ABSOLUTE;
	out->scheme = take_scheme(&text);
	if (out->scheme == HTTP_SCHEME_NONE)
		return http1_refuse(problem, 400, "malformed target");
	while (len < text.len && text.bytes[len] != '/' &&
	       text.bytes[len] != '?')
		len++;
	if (authority_parse(text.bytes, len, &out->authority) < 0)
		return http1_refuse(problem, 400, "malformed host in target");
	out->has_authority = true;
	out->path = span_over(text.bytes + len, text.len - len);
	if (out->path.len == 0)
		out->path =
			span_of(span_is(out->method, "OPTIONS") ? "*" : "/");
	else if (out->path.bytes[0] != '/')
		return http1_refuse(problem, 400, "malformed target");
	return 0;
}

static int parse_target(struct span text, struct http_request *out,
			struct http_problem *problem)
{
	if (text.len > HTTP_TARGET_MAX)
		return http1_refuse(problem, 414, "target too long");
	if (!http_is_target(text))
		return http1_refuse(problem, 400, "malformed target");
	if (out->method_kind == HTTP_METHOD_CONNECT) {
		out->target = HTTP_TARGET_AUTHORITY;
		if (authority_parse(text.bytes, text.len, &out->authority) <
			    0 ||
		    out->authority.port == 0)
			return http1_refuse(problem, 400,
					    "malformed target of CONNECT");
		out->has_authority = true;
		return 0;
	}
	if (span_is(text, "*") && span_is(out->method, "OPTIONS")) {
		out->target = HTTP_TARGET_ASTERISK;
		out->path = text;
		return 0;
	}
	if (text.bytes[0] != '/')
		return parse_absolute(text, out, problem);
	out->target = HTTP_TARGET_ORIGIN;
	out->path = text;
	return 0;
}

/* METHOD SP target SP version; one space each. */
static int parse_line(struct span line, struct http_request *out,
		      struct http_problem *problem)
{
	const char *first = memchr(line.bytes, ' ', line.len);
	size_t method_len = first ? (size_t)(first - line.bytes) : 0;
	const char *target = first ? first + 1 : NULL;
	size_t rest = first ? line.len - method_len - 1 : 0;
	const char *second = rest ? memchr(target, ' ', rest) : NULL;
	size_t target_len = second ? (size_t)(second - target) : 0;

	if (!second)
		return http1_refuse(problem, 400, "malformed request line");
	out->method = span_over(line.bytes, method_len);
	if (!http_method_is_valid(out->method))
		return http1_refuse(problem, 400, "malformed method");
	out->method_kind = http_method_kind(out->method);
	if (http1_version_parse(span_over(second + 1, rest - target_len - 1),
				&out->minor) < 0)
		return http1_refuse(problem, 505, "unknown HTTP version");
	return parse_target(span_over(target, target_len), out, problem);
}

static uint16_t port_of(const struct authority *authority,
			enum http_scheme scheme)
{
	if (authority->port)
		return authority->port;
	return scheme == HTTP_SCHEME_HTTPS ? PORT_HTTPS : PORT_HTTP;
}

/* A target that names a host and the Host field must mean the same. */
static bool agrees(const struct http_request *request,
		   const struct authority *host)
{
	if (!authority_same_host(&request->authority, host))
		return false;
	if (request->target == HTTP_TARGET_AUTHORITY)
		return host->port == 0 || host->port == request->authority.port;
	return port_of(&request->authority, request->scheme) ==
	       port_of(host, request->scheme);
}

static int settle_host(const struct http1_facts *facts,
		       struct http_request *out, struct http_problem *problem)
{
	struct authority host;

	if (!facts->has_host)
		return out->minor == 0 ? 0
				       : http1_refuse(problem, 400, "no Host");
	if (authority_parse(facts->host.bytes, facts->host.len, &host) < 0)
		return http1_refuse(problem, 400, "malformed Host");
	if (out->has_authority && !agrees(out, &host))
		return http1_refuse(problem, 400, "target and Host disagree");
	if (!out->has_authority)
		out->authority = host;
	out->has_authority = true;
	return 0;
}

static int settle_body(const struct http1_facts *facts,
		       struct http_request *out, struct http_problem *problem)
{
	out->body = facts->body;
	if (out->body.kind != HTTP_BODY_NONE &&
	    out->method_kind == HTTP_METHOD_CONNECT)
		return http1_refuse(problem, 400, "CONNECT with a body");
	if (out->body.kind != HTTP_BODY_NONE && span_is(out->method, "TRACE"))
		return http1_refuse(problem, 400, "TRACE with a body");
	return 0;
}

int http1_request_parse(const void *bytes, size_t len, struct http_request *out,
			struct http_problem *problem)
{
	struct span rest = span_over(bytes, len), line;
	struct http1_facts facts;

	memset(out, 0, offsetof(struct http_request, fields.list));
	if (len > HTTP1_HEAD_MAX)
		return http1_refuse(problem, 431, "head too long");
	if (!http1_next_line(&rest, &line))
		return http1_refuse(problem, 400, "bare CR or LF");
	if (parse_line(line, out, problem) < 0 ||
	    http1_fields_parse(rest, &out->fields, problem) < 0 ||
	    http1_facts_take(&out->fields, out->minor, &facts, problem) < 0 ||
	    settle_host(&facts, out, problem) < 0 ||
	    settle_body(&facts, out, problem) < 0)
		return -1;
	out->keep_alive = !facts.close && (out->minor > 0 || facts.keep_alive);
	out->expects_continue = facts.expects_continue && out->minor > 0;
	out->accepts_trailers = facts.accepts_trailers;
	/* With a body nobody could tell where the other protocol begins. */
	if (out->body.kind == HTTP_BODY_NONE &&
	    out->method_kind != HTTP_METHOD_CONNECT)
		out->upgrade = facts.upgrade;
	return 0;
}
