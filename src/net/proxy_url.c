/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_url.c - the host's proxy settings, read as other programs read them
 */
#include "net/proxy_url.h"

#include <assert.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "wire/span.h"

static const struct {
	const char *scheme;
	enum proxy_kind kind;
	uint16_t port;
} schemes[] = {
	{ "http", PROXY_HTTP, 80 },
	{ "https", PROXY_HTTPS, 443 },
	{ "socks5", PROXY_SOCKS5, 1080 },
	{ "socks5h", PROXY_SOCKS5, 1080 },
};

static const char *const names[] = {
	[PROXY_HTTP] = "http",
	[PROXY_HTTPS] = "https",
	[PROXY_SOCKS5] = "socks5",
	[PROXY_UNUSABLE] = "unusable",
};
static_assert(ARRAY_SIZE(names) == PROXY_KINDS, "a name for each kind");

const char *proxy_kind_name(enum proxy_kind kind)
{
	return names[kind];
}

/* Without NUL and line ends: these go into a header. */
static int decode(struct span text, char out[PROXY_LOGIN_MAX + 1])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		char hex[3] = { 0 };
		unsigned char c = (unsigned char)text.bytes[i];

		if (c == '%') {
			if (text.len - i < 3)
				return -1;
			memcpy(hex, text.bytes + i + 1, 2);
			if (text_unhex(hex, &c, 1) < 0)
				return -1;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f || len == PROXY_LOGIN_MAX)
			return -1;
		out[len++] = (char)c;
	}
	out[len] = '\0';
	return 0;
}

/* Takes USER[:PASSWORD]@ off the front; the last @ counts. */
static int take_login(struct span *text, struct proxy_url *out)
{
	const char *at = memrchr(text->bytes, '@', text->len);
	struct span user, password = { 0 };
	const char *colon;

	if (!at)
		return 0;
	user = span_over(text->bytes, (size_t)(at - text->bytes));
	*text = span_over(at + 1, text->len - user.len - 1);
	colon = memchr(user.bytes, ':', user.len);
	if (colon) {
		size_t len = (size_t)(colon - user.bytes);

		password = span_over(colon + 1, user.len - len - 1);
		user.len = len;
	}
	out->has_login = true;
	return decode(user, out->user) < 0 ||
			       decode(password, out->password) < 0
		       ? -1
		       : 0;
}

static int take_scheme(struct span *text, struct proxy_url *out, uint16_t *port)
{
	const char *mark = memmem(text->bytes, text->len, "://", 3);
	struct span scheme = span_of("http");

	if (mark) {
		scheme = span_over(text->bytes, (size_t)(mark - text->bytes));
		*text = span_over(mark + 3, text->len - scheme.len - 3);
	}
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (!span_matches_text(scheme, schemes[i].scheme))
			continue;
		out->kind = schemes[i].kind;
		*port = schemes[i].port;
		return 0;
	}
	return -1;
}

static int parse(struct span text, struct proxy_url *out)
{
	uint16_t port = 0;

	if (take_scheme(&text, out, &port) < 0 || take_login(&text, out) < 0)
		return -1;
	if (text.len && text.bytes[text.len - 1] == '/')
		text.len--;
	if (authority_parse(text.bytes, text.len, &out->server) < 0)
		return -1;
	if (!out->server.port)
		out->server.port = port;
	return 0;
}

void proxy_url_parse(const char *text, size_t len, struct proxy_url *out)
{
	*out = (struct proxy_url){ 0 };
	if (parse(span_over(text, len), out) < 0)
		*out = (struct proxy_url){ .kind = PROXY_UNUSABLE };
}
