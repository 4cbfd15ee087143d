/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_upstream_proxy.c - settings of the host's proxy, and what one says
 *
 * The first byte chooses: a URL, a list of exceptions, a reply of SOCKS.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"
#include "net/no_proxy.h"
#include "net/proxy_url.h"
#include "net/socks5.h"
#include "wire/address.h"

static void check_url(const char *text, size_t len)
{
	struct proxy_url url;

	proxy_url_parse(text, len, &url);
	if (url.kind == PROXY_UNUSABLE) {
		FUZZ_CHECK(!url.has_login && !url.server.port);
		return;
	}
	FUZZ_CHECK(url.server.port && url.server.host[0]);
	FUZZ_CHECK(!strpbrk(url.user, "\r\n") &&
		   !strpbrk(url.password, "\r\n"));
}

static void check_list(const char *text, size_t len)
{
	char *list = strndup(text, len);
	struct address address = { ADDRESS_V4, { 203, 0, 113, 7 } };

	no_proxy_has(list, "a.good.example", NULL, 443);
	no_proxy_has(list, NULL, &address, 443);
	free(list);
}

/* A longer input never changes what a shorter one was found to be. */
static void check_replies(const uint8_t *bytes, size_t len)
{
	enum socks5_method method;
	int whole = socks5_parse_connect_reply(bytes, len);

	FUZZ_CHECK(whole <= (int)len);
	for (size_t cut = 0; cut < len; cut++) {
		int part = socks5_parse_connect_reply(bytes, cut);

		FUZZ_CHECK(part == 0 || part == whole);
	}
	FUZZ_CHECK(socks5_parse_choice(bytes, len, &method) <= (int)len);
	FUZZ_CHECK(socks5_parse_login_reply(bytes, len) <= (int)len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] % 3 == 0)
		check_url((const char *)data + 1, size - 1);
	else if (data[0] % 3 == 1)
		check_list((const char *)data + 1, size - 1);
	else
		check_replies(data + 1, size - 1);
	return 0;
}
