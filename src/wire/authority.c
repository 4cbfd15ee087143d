/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.c - HOST[:PORT] as it stands in Host, CONNECT and URLs
 */
#include "wire/authority.h"

#include <string.h>

#include "base/text.h"

#define PORT_DIGITS_MAX 5

/* 1 to 65535 without leading zeros; -1 otherwise. */
static int parse_port(const char *bytes, size_t len)
{
	int port = 0;

	if (len == 0 || len > PORT_DIGITS_MAX || bytes[0] == '0')
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return -1;
		port = port * 10 + (bytes[i] - '0');
	}
	return port <= UINT16_MAX ? port : -1;
}

static int parse_bracketed(const char *bytes, size_t len, struct authority *out)
{
	if (!memchr(bytes, ':', len) ||
	    address_parse(bytes, len, &out->address) < 0)
		return -1;
	address_format(&out->address, out->host);
	return 0;
}

static int parse_plain(const char *bytes, size_t len, struct authority *out)
{
	if (hostname_canonical(bytes, len, out->host) > 0)
		return 0;
	if (memchr(bytes, ':', len) ||
	    address_parse(bytes, len, &out->address) < 0)
		return -1;
	address_format(&out->address, out->host);
	return 0;
}

static int parse(const char *bytes, size_t len, struct authority *out)
{
	bool bracketed = bytes[0] == '[';
	const char *end = memchr(bytes, bracketed ? ']' : ':', len);
	size_t host_len = end ? (size_t)(end - bytes) : len;
	size_t rest = len - host_len;
	int port = 0;

	if (bracketed) {
		if (!end || parse_bracketed(bytes + 1, host_len - 1, out) < 0)
			return -1;
		end++;
		rest--;
	} else if (parse_plain(bytes, host_len, out) < 0) {
		return -1;
	}
	if (rest == 0)
		return 0;
	if (*end == ':')
		port = parse_port(end + 1, rest - 1);
	if (port <= 0)
		return -1;
	out->port = (uint16_t)port;
	return 0;
}

int authority_parse(const char *bytes, size_t len, struct authority *out)
{
	*out = (struct authority){ 0 };
	if (len > 0 && parse(bytes, len, out) == 0)
		return 0;
	*out = (struct authority){ 0 };
	return -1;
}

void authority_format(const struct authority *authority,
		      char out[AUTHORITY_TEXT_SIZE])
{
	bool bracketed = authority->address.family == ADDRESS_V6;
	char port[sizeof(":65535")] = "";

	if (authority->port)
		(void)text_format(port, sizeof(port), ":%u", authority->port);
	(void)text_format(out, AUTHORITY_TEXT_SIZE, "%s%s%s%s",
			  bracketed ? "[" : "", authority->host,
			  bracketed ? "]" : "", port);
}

bool authority_same_host(const struct authority *a, const struct authority *b)
{
	return strcmp(a->host, b->host) == 0;
}
