/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_head.c - heads of HTTP/2, read as strictly as those of HTTP/1
 */
#include "wire/http2_head.h"

#include <string.h>

#include "wire/http1_head_internal.h"

enum pseudo {
	PSEUDO_METHOD,
	PSEUDO_SCHEME,
	PSEUDO_AUTHORITY,
	PSEUDO_PATH,
	PSEUDO_STATUS,

	PSEUDOS,
};

static const char *const pseudo_names[] = {
	[PSEUDO_METHOD] = ":method",       [PSEUDO_SCHEME] = ":scheme",
	[PSEUDO_AUTHORITY] = ":authority", [PSEUDO_PATH] = ":path",
	[PSEUDO_STATUS] = ":status",
};
_Static_assert(sizeof(pseudo_names) / sizeof(pseudo_names[0]) == PSEUDOS,
	       "each has a name");

#define OF_REQUEST                                                            \
	(1u << PSEUDO_METHOD | 1u << PSEUDO_SCHEME | 1u << PSEUDO_AUTHORITY | \
	 1u << PSEUDO_PATH)
#define OF_RESPONSE (1u << PSEUDO_STATUS)

struct pseudos {
	unsigned allowed, found; /* bits */
	struct span values[PSEUDOS];
};

static bool has(const struct pseudos *pseudos, enum pseudo which)
{
	return pseudos->found & 1u << which;
}

static int take_pseudo(const struct http_field *field, struct pseudos *pseudos,
		       struct http_problem *problem)
{
	for (unsigned i = 0; i < PSEUDOS; i++) {
		if (!(pseudos->allowed & 1u << i) ||
		    !span_is(field->name, pseudo_names[i]))
			continue;
		if (pseudos->found & 1u << i)
			return http1_refuse(problem, 400,
					    "pseudo-header field twice");
		pseudos->found |= 1u << i;
		pseudos->values[i] = field->value;
		return 0;
	}
	return http1_refuse(problem, 400, "unknown pseudo-header field");
}

/* RFC 9113, 8.2.2: what HTTP/1 says between two ends of a connection. */
static bool is_of_connection(const struct http_field *field)
{
	static const char *const names[] = {
		"connection",        "keep-alive", "proxy-connection",
		"transfer-encoding", "upgrade",    "http2-settings"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (span_is(field->name, names[i]))
			return true;
	}
	return span_is(field->name, "te") &&
	       !span_matches_text(field->value, "trailers");
}

static bool has_capitals(struct span name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (name.bytes[i] != span_small(name.bytes[i]))
			return true;
	}
	return false;
}

static int take_field(const struct http_field *field, struct http_fields *out,
		      struct http_problem *problem)
{
	if (!http_is_token(field->name) || has_capitals(field->name))
		return http1_refuse(problem, 400, "malformed field name");
	if (is_of_connection(field))
		return http1_refuse(problem, 400, "field of a connection");
	if (out->count == HTTP_FIELDS_MAX)
		return http1_refuse(problem, 431, "too many fields");
	if (http_trim(field->value).len != field->value.len ||
	    http_fields_add(out, field->name, field->value) < 0)
		return http1_refuse(problem, 400, "malformed field value");
	return 0;
}

static int take_block(const struct http2_block *block, struct pseudos *pseudos,
		      struct http_fields *out, struct http_problem *problem)
{
	struct http_field field;
	size_t at = 0;

	http_fields_init(out);
	if (block->too_large)
		return http1_refuse(problem, 431, "head too long");
	while (http2_block_next(block, &at, &field)) {
		bool is_pseudo = field.name.len && field.name.bytes[0] == ':';

		if (is_pseudo && out->count)
			return http1_refuse(problem, 400,
					    "pseudo-header field too late");
		if (is_pseudo ? take_pseudo(&field, pseudos, problem) < 0
			      : take_field(&field, out, problem) < 0)
			return -1;
	}
	return 0;
}

static int settle_method(const struct pseudos *pseudos,
			 struct http_request *out, struct http_problem *problem)
{
	out->method = pseudos->values[PSEUDO_METHOD];
	if (!http_method_is_valid(out->method))
		return http1_refuse(problem, 400, "malformed method");
	out->method_kind = http_method_kind(out->method);
	if (out->method_kind == HTTP_METHOD_CONNECT)
		return http1_refuse(problem, 501, "CONNECT in HTTP/2");
	return 0;
}

static int settle_target(const struct pseudos *pseudos,
			 struct http_request *out, struct http_problem *problem)
{
	struct span scheme = pseudos->values[PSEUDO_SCHEME];

	out->path = pseudos->values[PSEUDO_PATH];
	if (span_is(scheme, "https"))
		out->scheme = HTTP_SCHEME_HTTPS;
	else if (span_is(scheme, "http"))
		out->scheme = HTTP_SCHEME_HTTP;
	else
		return http1_refuse(problem, 400, "unknown scheme");
	if (out->path.len > HTTP_TARGET_MAX)
		return http1_refuse(problem, 414, "target too long");
	if (span_is(out->path, "*") && span_is(out->method, "OPTIONS"))
		out->target = HTTP_TARGET_ASTERISK;
	else if (!http_is_target(out->path) || out->path.bytes[0] != '/')
		return http1_refuse(problem, 400, "malformed target");
	return 0;
}

/* Host may be there besides or instead, and must mean the same. */
static int settle_host(const struct pseudos *pseudos,
		       const struct http1_facts *facts,
		       struct http_request *out, struct http_problem *problem)
{
	struct span named = pseudos->values[PSEUDO_AUTHORITY];
	struct authority host;

	if (!has(pseudos, PSEUDO_AUTHORITY) && !facts->has_host)
		return http1_refuse(problem, 400, "no :authority");
	if (!has(pseudos, PSEUDO_AUTHORITY))
		named = facts->host;
	if (authority_parse(named.bytes, named.len, &out->authority) < 0)
		return http1_refuse(problem, 400, "malformed :authority");
	out->has_authority = true;
	if (!facts->has_host)
		return 0;
	if (authority_parse(facts->host.bytes, facts->host.len, &host) < 0)
		return http1_refuse(problem, 400, "malformed Host");
	if (!authority_same_host(&out->authority, &host) ||
	    out->authority.port != host.port)
		return http1_refuse(problem, 400,
				    ":authority and Host disagree");
	return 0;
}

/* HTTP/1 servers want to be told that there is nothing. */
static bool expects_content(struct span method)
{
	return span_is(method, "POST") || span_is(method, "PUT") ||
	       span_is(method, "PATCH");
}

static int settle_body(const struct http1_facts *facts, bool ends,
		       struct http_request *out, struct http_problem *problem)
{
	struct http_body *body = &out->body;

	*body = facts->body;
	if (ends && body->length > 0)
		return http1_refuse(problem, 400,
				    "a body other than Content-Length");
	if (!ends && body->kind == HTTP_BODY_NONE)
		body->kind = HTTP_BODY_CHUNKED;
	if (ends && expects_content(out->method))
		*body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
					    .has_length = true };
	if (body->kind != HTTP_BODY_NONE && span_is(out->method, "TRACE"))
		return http1_refuse(problem, 400, "TRACE with a body");
	return 0;
}

int http2_request_parse(const struct http2_block *block, bool ends,
			struct http_request *out, struct http_problem *problem)
{
	struct pseudos pseudos = { .allowed = OF_REQUEST };
	struct http1_facts facts;

	memset(out, 0, offsetof(struct http_request, fields.list));
	if (take_block(block, &pseudos, &out->fields, problem) < 0 ||
	    http1_facts_take(&out->fields, 1, &facts, problem) < 0 ||
	    settle_method(&pseudos, out, problem) < 0 ||
	    settle_target(&pseudos, out, problem) < 0 ||
	    settle_host(&pseudos, &facts, out, problem) < 0 ||
	    settle_body(&facts, ends, out, problem) < 0)
		return -1;
	out->minor = 1;
	out->keep_alive = true;
	out->expects_continue = facts.expects_continue;
	out->accepts_trailers = facts.accepts_trailers;
	return 0;
}

/* Three digits, 100 to 999; else 0. */
static uint16_t status_of(struct span text)
{
	unsigned status = 0;

	if (text.len != 3 || text.bytes[0] == '0')
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.bytes[i] < '0' || text.bytes[i] > '9')
			return 0;
		status = status * 10 + (unsigned)(text.bytes[i] - '0');
	}
	return (uint16_t)status;
}

static int settle_answer(const struct http1_facts *facts,
			 enum http_method asked, bool ends,
			 struct http_response *out,
			 struct http_problem *problem)
{
	struct http_body *body = &out->body;

	if (out->is_interim)
		return ends ? http1_refuse(problem, 502, "only an interim head")
			    : 0;
	if (out->status != 204)
		*body = facts->body;
	if (asked == HTTP_METHOD_HEAD || out->status == 304 ||
	    out->status == 204)
		body->kind = HTTP_BODY_NONE;
	else if (ends && body->length > 0)
		return http1_refuse(problem, 502,
				    "a body other than Content-Length");
	else if (ends)
		*body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
					    .has_length = true };
	else if (body->kind == HTTP_BODY_NONE)
		body->kind = HTTP_BODY_CHUNKED;
	return 0;
}

int http2_response_parse(const struct http2_block *block,
			 enum http_method asked, bool ends,
			 struct http_response *out,
			 struct http_problem *problem)
{
	struct pseudos pseudos = { .allowed = OF_RESPONSE };
	struct http1_facts facts;

	memset(out, 0, offsetof(struct http_response, fields.list));
	out->minor = 1;
	out->keep_alive = true;
	if (take_block(block, &pseudos, &out->fields, problem) == 0 &&
	    http1_facts_take(&out->fields, 1, &facts, problem) == 0) {
		out->status = status_of(pseudos.values[PSEUDO_STATUS]);
		out->is_interim = out->status < 200;
		if (!out->status || out->status == 101)
			return http1_refuse(problem, 502, "malformed :status");
		if (settle_answer(&facts, asked, ends, out, problem) == 0)
			return 0;
	}
	problem->status = 502;
	return -1;
}

bool http2_is_interim(const struct http2_block *block)
{
	struct http_field field;
	size_t at = 0;

	return http2_block_next(block, &at, &field) &&
	       span_is(field.name, ":status") && field.value.len == 3 &&
	       field.value.bytes[0] == '1';
}

int http2_trailers_parse(const struct http2_block *block,
			 struct http_fields *out, struct http_problem *problem)
{
	struct pseudos none = { 0 };

	if (block->list_size > HTTP1_TRAILERS_MAX)
		return http1_refuse(problem, 431, "trailers too long");
	if (take_block(block, &none, out, problem) < 0)
		return -1;
	return http1_trailers_check(out, problem);
}
