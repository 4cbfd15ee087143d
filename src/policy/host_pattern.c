/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_pattern.c - the hosts that a rule means
 */
#include "policy/host_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "wire/hostname.h"

/* The longest first: `**.` begins like none of the others, `*.` like it. */
static const struct {
	const char *prefix;
	size_t len;
	enum host_kind kind;
} wildcards[] = {
	{ "**.", 3, HOST_BELOW },
	{ "*.", 2, HOST_ONE },
	{ ".", 1, HOST_TREE },
};

bool host_pattern_is_localhost(const char *name)
{
	switch (*name) {
	case 'l':
		return strcmp(name, "localhost") == 0;
	case 'h':
		return strcmp(name, "host.docker.internal") == 0;
	case 'g':
		return strcmp(name, "gateway.docker.internal") == 0;
	default:
		return false;
	}
}

static int parse_range(const char *text, size_t len, struct host_pattern *out)
{
	struct address address;

	if (cidr_parse(text, len, &out->range) >= 0)
		return 0;
	if (address_parse(text, len, &address) < 0)
		return -1;
	out->range.base = address;
	out->range.bits = address.family == ADDRESS_V4 ? 32 : 128;
	return 0;
}

/* What is wrong with a text that is no host name. */
static int refuse_name(const char *text, size_t len, struct error *err)
{
	char shown[128];

	text_printable(text, len, shown, sizeof(shown));
	if (len == 0)
		return error_set(err, 0, "a rule needs a host");
	if (memchr(text, '/', len))
		return error_set(err, 0,
				 "%s: not a range of addresses; a path behind "
				 "an address needs a port before it",
				 shown);
	if (memchr(text, '*', len))
		return error_set(
			err, 0,
			"%s: a wildcard is `*.` (one label) or `**.` "
			"(any depth) in front of a name, or `**` alone",
			shown);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return error_set(err, 0,
					 "%s: write the name in ASCII "
					 "(as xn--...)",
					 shown);
	}
	return error_set(err, 0, "%s: neither a host name nor an address",
			 shown);
}

static int parse_name(const char *text, size_t len, struct host_pattern *out,
		      struct error *err)
{
	char name[HOSTNAME_MAX + 1];
	size_t skip = 0;

	out->kind = HOST_EXACT;
	for (size_t i = 0; i < ARRAY_SIZE(wildcards) && !skip; i++) {
		if (len > wildcards[i].len &&
		    memcmp(text, wildcards[i].prefix, wildcards[i].len) == 0) {
			out->kind = wildcards[i].kind;
			skip = wildcards[i].len;
		}
	}
	if (hostname_canonical(text + skip, len - skip, name) < 0)
		return refuse_name(text, len, err);
	if (out->kind == HOST_EXACT && host_pattern_is_localhost(name))
		out->kind = HOST_LOCALHOST;
	else
		out->name = xstrdup(name);
	return 0;
}

int host_pattern_parse(const char *text, size_t len, struct host_pattern *out,
		       struct error *err)
{
	*out = (struct host_pattern){ .kind = HOST_ADDRESS };
	if (parse_range(text, len, out) == 0)
		return 0;
	if (len == 2 && memcmp(text, "**", 2) == 0) {
		out->kind = HOST_ANY;
		return 0;
	}
	return parse_name(text, len, out, err);
}

void host_pattern_release(struct host_pattern *pattern)
{
	free(pattern->name);
	*pattern = (struct host_pattern){ 0 };
}

static void format_range(const struct cidr *range,
			 char out[HOST_PATTERN_TEXT_SIZE])
{
	if (range->bits == (range->base.family == ADDRESS_V4 ? 32 : 128))
		address_format(&range->base, out);
	else
		cidr_format(range, out);
}

void host_pattern_format(const struct host_pattern *pattern,
			 char out[HOST_PATTERN_TEXT_SIZE])
{
	const char *prefix = "";

	for (size_t i = 0; i < ARRAY_SIZE(wildcards); i++) {
		if (wildcards[i].kind == pattern->kind)
			prefix = wildcards[i].prefix;
	}
	if (pattern->kind == HOST_ADDRESS)
		format_range(&pattern->range, out);
	else if (pattern->kind == HOST_LOCALHOST)
		(void)text_copy(out, HOST_PATTERN_TEXT_SIZE, "localhost");
	else if (pattern->kind == HOST_ANY)
		(void)text_copy(out, HOST_PATTERN_TEXT_SIZE, "**");
	else
		(void)text_format(out, HOST_PATTERN_TEXT_SIZE, "%s%s", prefix,
				  pattern->name);
}
