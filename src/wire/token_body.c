/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_body.c - bodies of requests to a token endpoint and of its answers
 */
#include "wire/token_body.h"

#include <string.h>

#include "wire/base64.h"

#define DEPTH_MAX 32
#define PREFIX_MAX 16
/* Seconds until the year 33658. */
#define NUMBER_DIGITS 12

struct reader {
	const char *at, *end;
	const char *name; /* that is looked for */
	struct span value;
	struct span word; /* it is no text but this, or something longer */
	unsigned found;
};

static bool starts_with(struct span text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text.len >= len &&
	       span_matches_text(span_over(text.bytes, len), prefix) &&
	       (text.len == len || text.bytes[len] == ';' ||
		text.bytes[len] == ' ');
}

enum token_body_kind token_body_kind(struct span content_type)
{
	if (starts_with(content_type, "application/json"))
		return TOKEN_BODY_JSON;
	if (starts_with(content_type, "application/x-www-form-urlencoded"))
		return TOKEN_BODY_FORM;
	return TOKEN_BODY_OTHER;
}

static void skip_blank(struct reader *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_blank(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

/* Behind the quote; *plain: there is no escape in it. */
static bool take_string(struct reader *r, struct span *text, bool *plain)
{
	const char *start;

	*plain = true;
	if (!take(r, '"'))
		return false;
	for (start = r->at; r->at < r->end && *r->at != '"'; r->at++) {
		if ((unsigned char)*r->at < ' ')
			return false;
		if (*r->at != '\\')
			continue;
		*plain = false;
		if (++r->at == r->end)
			return false;
	}
	if (r->at == r->end)
		return false;
	*text = span_over(start, (size_t)(r->at++ - start));
	return true;
}

/* A number, true, false or null. */
static bool skip_word(struct reader *r)
{
	const char *start = r->at;

	while (r->at < r->end && *r->at &&
	       strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *r->at))
		r->at++;
	return r->at > start;
}

/* Whatever it is; brackets are counted, as what is in them is nobody's. */
static bool skip_value(struct reader *r)
{
	char open[DEPTH_MAX];
	unsigned depth = 0;
	struct span text;
	bool plain;

	do {
		skip_blank(r);
		if (r->at == r->end)
			return false;
		if (*r->at == '{' || *r->at == '[') {
			if (depth == DEPTH_MAX)
				return false;
			open[depth++] = *r->at++ == '{' ? '}' : ']';
		} else if (depth && *r->at == open[depth - 1]) {
			depth--;
			r->at++;
		} else if (depth && (*r->at == ',' || *r->at == ':')) {
			r->at++;
		} else if (*r->at == '"' ? !take_string(r, &text, &plain)
					 : !skip_word(r)) {
			return false;
		}
	} while (depth);
	return true;
}

/* Of the object at the top. */
static bool read_member(struct reader *r)
{
	struct span name, value;
	bool plain, wanted;
	const char *start;

	if (!take_string(r, &name, &plain) || !plain || !take(r, ':'))
		return false;
	wanted = span_is(name, r->name);
	r->found += wanted;
	skip_blank(r);
	start = r->at;
	if (r->at == r->end || *r->at != '"') {
		if (!skip_value(r))
			return false;
		if (wanted)
			r->word = span_over(start, (size_t)(r->at - start));
		return true;
	}
	if (!take_string(r, &value, &plain) || (wanted && !plain))
		return false;
	if (wanted)
		r->value = value;
	return true;
}

static bool read_json(struct reader *r)
{
	if (!take(r, '{'))
		return false;
	if (!take(r, '}')) {
		do {
			if (!read_member(r))
				return false;
		} while (take(r, ','));
		if (!take(r, '}'))
			return false;
	}
	skip_blank(r);
	return r->at == r->end;
}

static bool read_form(struct reader *r)
{
	while (r->at < r->end) {
		size_t left = (size_t)(r->end - r->at);
		const char *stop = memchr(r->at, '&', left);
		const char *end = stop ? stop : r->end;
		const char *equals = memchr(r->at, '=', (size_t)(end - r->at));
		struct span name;

		if (!equals)
			return false;
		name = span_over(r->at, (size_t)(equals - r->at));
		/* `refresh%5Ftoken` is the same name. */
		if (name.len && (memchr(name.bytes, '%', name.len) ||
				 memchr(name.bytes, '+', name.len)))
			return false;
		if (span_is(name, r->name)) {
			r->found++;
			r->value = span_over(equals + 1,
					     (size_t)(end - equals - 1));
		}
		r->at = end + (stop != NULL);
	}
	return true;
}

static int read_body(enum token_body_kind kind, struct span body,
		     const char *name, struct reader *r)
{
	*r = (struct reader){ .at = body.bytes,
			      .end = body.bytes + body.len,
			      .name = name };
	if (!body.len || body.len > TOKEN_BODY_MAX || kind == TOKEN_BODY_OTHER)
		return -1;
	return (kind == TOKEN_BODY_JSON ? read_json(r) : read_form(r)) &&
			       r->found <= 1
		       ? 0
		       : -1;
}

int token_body_find(enum token_body_kind kind, struct span body,
		    const char *name, struct span *value)
{
	struct reader r;

	*value = span_over("", 0);
	if (read_body(kind, body, name, &r) < 0)
		return -1;
	if (r.value.len)
		*value = r.value;
	return 0;
}

static int64_t number_of(struct span digits)
{
	int64_t number = 0;

	if (digits.len > NUMBER_DIGITS)
		return 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.bytes[i] < '0' || digits.bytes[i] > '9')
			return 0;
		number = 10 * number + (digits.bytes[i] - '0');
	}
	return number;
}

int64_t token_body_number(enum token_body_kind kind, struct span body,
			  const char *name)
{
	struct reader r;

	if (read_body(kind, body, name, &r) < 0)
		return 0;
	return number_of(r.value.len ? r.value : r.word);
}

bool token_is_plain(struct span token)
{
	if (token.len < TOKEN_MIN || token.len > TOKEN_MAX)
		return false;
	for (size_t i = 0; i < token.len; i++) {
		char c = span_small(token.bytes[i]);

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    (!c || !strchr("-._~", c)))
			return false;
	}
	return true;
}

/* Behind the second of two dots; 0: it is no JWT. */
static size_t signature_of(struct span token)
{
	size_t at = 0;
	unsigned dots = 0;

	for (size_t i = 0; i < token.len; i++) {
		if (token.bytes[i] != '.')
			continue;
		dots++;
		at = i + 1;
	}
	return dots == 2 && token.len - at >= TOKEN_HIDDEN_MIN ? at : 0;
}

int64_t token_expires(struct span token)
{
	const char *dot =
		token.len ? memchr(token.bytes, '.', token.len) : NULL;
	size_t signature = signature_of(token), len = 0;
	char text[TOKEN_MAX + 4], plain[TOKEN_MAX + 4];
	int size;

	if (!signature || token.len > TOKEN_MAX)
		return 0;
	/* base64url, without padding */
	for (const char *p = dot + 1; p < token.bytes + signature - 1; p++)
		text[len++] = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	while (len % 4)
		text[len++] = '=';
	size = base64_decode(text, len, plain);
	return size <= 0 ? 0
			 : token_body_number(TOKEN_BODY_JSON,
					     span_over(plain, (size_t)size),
					     "exp");
}

size_t token_shown(struct span token)
{
	size_t at = signature_of(token);

	if (token.len < TOKEN_MIN)
		return 0;
	for (size_t i = 0; !at && i < PREFIX_MAX && i < token.len; i++) {
		size_t next = PREFIX_MAX - i;

		if (next < token.len - TOKEN_HIDDEN_MIN &&
		    (token.bytes[next - 1] == '-' ||
		     token.bytes[next - 1] == '_'))
			at = next;
	}
	return at;
}
