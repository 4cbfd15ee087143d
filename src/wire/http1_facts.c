/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_facts.c - the fields that concern one connection only
 *
 * Each known name is a row. Servers that make variables of names take `_` for
 * `-`: a framing field spelled that way would be one to them and none to us, so
 * it is refused.
 */
#include "wire/http1_head_internal.h"

#include <string.h>

struct reading {
	struct http1_facts *facts;
	struct http_problem *problem;
	struct span named[HTTP1_CONNECTION_TOKENS_MAX]; /* by Connection */
	size_t named_count;
	bool has_length, has_coding, has_upgrade, has_expect;
	bool wants_upgrade; /* Connection says so */
	struct span upgrade;
};

typedef int take_fn(struct reading *reading, struct span value);

static int refuse(struct reading *reading, const char *text)
{
	return http1_refuse(reading->problem, 400, text);
}

static int take_host(struct reading *reading, struct span value)
{
	if (reading->facts->has_host)
		return refuse(reading, "Host twice");
	reading->facts->has_host = true;
	reading->facts->host = value;
	return 0;
}

/* Digits without leading zeros that fit into 63 bits. */
static int take_length(struct reading *reading, struct span value)
{
	uint64_t length = 0;

	if (reading->has_length)
		return refuse(reading, "Content-Length twice");
	reading->has_length = true;
	if (value.len == 0 || (value.len > 1 && value.bytes[0] == '0'))
		return refuse(reading, "malformed Content-Length");
	for (size_t i = 0; i < value.len; i++) {
		char c = value.bytes[i];

		if (c < '0' || c > '9' || length > (INT64_MAX - 9) / 10)
			return refuse(reading, "malformed Content-Length");
		length = length * 10 + (uint64_t)(c - '0');
	}
	reading->facts->body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
						   .has_length = true,
						   .length = length };
	return 0;
}

static int take_coding(struct reading *reading, struct span value)
{
	if (reading->has_coding)
		return refuse(reading, "Transfer-Encoding twice");
	reading->has_coding = true;
	if (!span_matches_text(value, "chunked"))
		return http1_refuse(reading->problem, 501,
				    "unknown Transfer-Encoding");
	reading->facts->body = (struct http_body){ .kind = HTTP_BODY_CHUNKED };
	return 0;
}

static int take_connection(struct reading *reading, struct span value)
{
	struct span token;

	while (http_list_next(&value, &token)) {
		if (!http_is_token(token))
			return refuse(reading, "malformed Connection");
		if (reading->named_count == HTTP1_CONNECTION_TOKENS_MAX)
			return refuse(reading, "Connection names too much");
		reading->named[reading->named_count++] = token;
		reading->facts->close |= span_matches_text(token, "close");
		reading->facts->keep_alive |=
			span_matches_text(token, "keep-alive");
		reading->wants_upgrade |= span_matches_text(token, "upgrade");
		/* Whoever drops these on our word reads another message. */
		if (span_matches_text(token, "host") ||
		    span_matches_text(token, "content-length"))
			return refuse(reading, "Connection names framing");
	}
	return 0;
}

static int take_upgrade(struct reading *reading, struct span value)
{
	if (reading->has_upgrade)
		return refuse(reading, "Upgrade twice");
	reading->has_upgrade = true;
	reading->upgrade = value;
	return 0;
}

static int take_te(struct reading *reading, struct span value)
{
	struct span token;

	while (http_list_next(&value, &token))
		reading->facts->accepts_trailers |=
			span_matches_text(token, "trailers");
	return 0;
}

static int take_expect(struct reading *reading, struct span value)
{
	if (reading->has_expect)
		return refuse(reading, "Expect twice");
	reading->has_expect = true;
	if (!span_matches_text(value, "100-continue"))
		return http1_refuse(reading->problem, 417,
				    "unknown expectation");
	reading->facts->expects_continue = true;
	return 0;
}

/* Means something between the peer and us alone. */
static int drop(struct reading *reading, struct span value)
{
	return 0;
}

static const struct known {
	const char *name;
	take_fn *take;
} known[] = {
	{ "host", take_host },
	{ "connection", take_connection },
	{ "content-length", take_length },
	{ "transfer-encoding", take_coding },
	{ "upgrade", take_upgrade },
	{ "expect", take_expect },
	{ "te", take_te },
	{ "keep-alive", drop },
	{ "proxy-connection", drop },
	{ "proxy-authorization", drop },
	{ "proxy-authenticate", drop },
	{ "proxy-authentication-info", drop },
	{ "http2-settings", drop },
};

static char folded(char c)
{
	return c == '_' ? '-' : span_small(c);
}

static const struct known *find_known(struct span name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *text = known[i].name;
		size_t at = 0;

		while (at < name.len && text[at] == folded(name.bytes[at]))
			at++;
		if (at == name.len && text[at] == '\0')
			return &known[i];
	}
	return NULL;
}

bool http1_is_framing(struct span name)
{
	return find_known(name) != NULL || span_matches_text(name, "trailer");
}

static bool is_named(const struct reading *reading, struct span name)
{
	for (size_t i = 0; i < reading->named_count; i++) {
		if (span_matches(reading->named[i], name))
			return true;
	}
	return false;
}

/* The fields that are left are the message's own. */
static int take_known(struct http_fields *fields, struct reading *reading)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++) {
		const struct http_field *field = &fields->list[i];
		const struct known *row = find_known(field->name);

		if (!row) {
			fields->list[kept++] = *field;
			continue;
		}
		if (memchr(field->name.bytes, '_', field->name.len))
			return refuse(reading, "underscore in a framing field");
		if (row->take(reading, field->value) < 0)
			return -1;
	}
	fields->count = kept;
	return 0;
}

static void remove_named(struct http_fields *fields,
			 const struct reading *reading)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->count && reading->named_count; i++) {
		if (!is_named(reading, fields->list[i].name))
			fields->list[kept++] = fields->list[i];
	}
	if (reading->named_count)
		fields->count = kept;
}

int http1_facts_take(struct http_fields *fields, uint8_t minor,
		     struct http1_facts *facts, struct http_problem *problem)
{
	struct reading reading = { .facts = facts, .problem = problem };

	*facts = (struct http1_facts){ 0 };
	if (take_known(fields, &reading) < 0)
		return -1;
	if (reading.has_length && reading.has_coding)
		return refuse(&reading, "length and coding together");
	if (reading.has_coding && minor == 0)
		return refuse(&reading, "Transfer-Encoding in HTTP/1.0");
	remove_named(fields, &reading);
	if (reading.wants_upgrade && minor > 0)
		facts->upgrade = reading.upgrade;
	return 0;
}
