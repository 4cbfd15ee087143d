/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat_json.c - one value of a JSON object, without a library
 */
#include "guest/flat_json.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

struct scan {
	const char *at, *end;
};

static void skip_space(struct scan *scan)
{
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) &&
	       *scan->at)
		scan->at++;
}

/* From a quote to behind the other one; begin and *len are what is between. */
static const char *take_string(struct scan *scan, size_t *len)
{
	const char *begin = ++scan->at;

	while (scan->at < scan->end && *scan->at != '"')
		scan->at +=
			*scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
	if (scan->at >= scan->end)
		return NULL;
	*len = (size_t)(scan->at++ - begin);
	return begin;
}

/* Over a list or an object, however deep. */
static int skip_nested(struct scan *scan)
{
	size_t depth = 0, len;

	do {
		if (*scan->at == '"') {
			if (!take_string(scan, &len))
				return -1;
			continue;
		}
		depth += *scan->at == '{' || *scan->at == '[';
		depth -= *scan->at == '}' || *scan->at == ']';
		scan->at++;
	} while (depth && scan->at < scan->end);
	return depth ? -1 : 0;
}

static const char *take_word(struct scan *scan, size_t *len)
{
	const char *begin = scan->at;

	while (scan->at < scan->end && !strchr(",}] \t\r\n", *scan->at))
		scan->at++;
	*len = (size_t)(scan->at - begin);
	return *len ? begin : NULL;
}

/* Newlines become spaces; other escapes lose their backslash. */
static void copy_out(const char *bytes, size_t len, bool quoted, char *out,
		     size_t size)
{
	char plain[512];
	size_t put = 0;

	for (size_t i = 0; i < len && put < sizeof(plain); i++) {
		if (quoted && bytes[i] == '\\' && i + 1 < len) {
			i++;
			plain[put++] = strchr("nrt", bytes[i]) ? ' ' : bytes[i];
		} else {
			plain[put++] = bytes[i];
		}
	}
	text_printable(plain, put, out, size);
}

/* 1 and the value, 0 where it is a list or an object, -1. */
static int take_value(struct scan *scan, const char **value, size_t *len,
		      bool *quoted)
{
	skip_space(scan);
	if (scan->at >= scan->end)
		return -1;
	*quoted = *scan->at == '"';
	if (*scan->at == '{' || *scan->at == '[')
		return skip_nested(scan);
	*value = *quoted ? take_string(scan, len) : take_word(scan, len);
	return *value ? 1 : -1;
}

int flat_json_find(const char *text, size_t len, const char *key, char *out,
		   size_t size)
{
	struct scan scan = { text, text + len };

	skip_space(&scan);
	if (scan.at >= scan.end || *scan.at++ != '{')
		return -1;
	for (;;) {
		const char *name, *value = NULL;
		size_t name_len = 0, value_len = 0;
		bool quoted = false;
		int got;

		skip_space(&scan);
		if (scan.at >= scan.end || *scan.at != '"')
			return -1;
		name = take_string(&scan, &name_len);
		skip_space(&scan);
		if (!name || scan.at >= scan.end || *scan.at++ != ':')
			return -1;
		got = take_value(&scan, &value, &value_len, &quoted);
		if (got < 0)
			return -1;
		if (name_len == strlen(key) && !memcmp(name, key, name_len)) {
			if (got)
				copy_out(value, value_len, quoted, out, size);
			return got ? 0 : -1;
		}
		skip_space(&scan);
		if (scan.at >= scan.end || *scan.at++ != ',')
			return -1;
	}
}
