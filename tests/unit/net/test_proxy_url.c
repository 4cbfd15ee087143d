/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_proxy_url.c - the host's proxy settings
 */
#include "net/proxy_url.h"

#include "lib/tap.h"

static struct proxy_url url;

static enum proxy_kind kind_of(const char *text)
{
	proxy_url_parse(text, strlen(text), &url);
	return url.kind;
}

static void schemes_and_their_ports(void)
{
	CHECK(kind_of("http://proxy.example:3128/") == PROXY_HTTP);
	CHECK(!strcmp(url.server.host, "proxy.example"));
	CHECK(url.server.port == 3128 && !url.has_login);
	CHECK(kind_of("proxy.example") == PROXY_HTTP && url.server.port == 80);
	CHECK(kind_of("HTTPS://proxy.example") == PROXY_HTTPS);
	CHECK(url.server.port == 443);
	CHECK(kind_of("socks5://127.0.0.1") == PROXY_SOCKS5);
	CHECK(url.server.port == 1080 && url.server.address.family == 4);
	CHECK(kind_of("socks5h://[::1]:9050") == PROXY_SOCKS5);
	CHECK(url.server.address.family == 6 && url.server.port == 9050);
}

static void a_login_is_decoded(void)
{
	CHECK(kind_of("http://me:p%40ss%3a@proxy.example:1") == PROXY_HTTP);
	CHECK(url.has_login && !strcmp(url.user, "me"));
	CHECK(!strcmp(url.password, "p@ss:"));
	CHECK(kind_of("http://me@proxy.example:1") == PROXY_HTTP);
	CHECK(url.has_login && !url.password[0]);
	CHECK(kind_of("http://a@b:c@proxy.example") == PROXY_HTTP);
	CHECK(!strcmp(url.user, "a@b") && !strcmp(url.password, "c"));
}

static void what_is_not_understood_cannot_be_used(void)
{
	CHECK(kind_of("") == PROXY_UNUSABLE);
	CHECK(kind_of("socks4://proxy.example") == PROXY_UNUSABLE);
	CHECK(kind_of("http://") == PROXY_UNUSABLE);
	CHECK(kind_of("http://proxy.example:0") == PROXY_UNUSABLE);
	CHECK(kind_of("http://proxy.example/path") == PROXY_UNUSABLE);
	CHECK(kind_of("http://a%0d%0ab@proxy.example") == PROXY_UNUSABLE);
	CHECK(kind_of("http://a%4@proxy.example") == PROXY_UNUSABLE);
	CHECK(kind_of("http://a%zz@proxy.example") == PROXY_UNUSABLE);
	CHECK(!url.has_login && !url.user[0]);
	CHECK(!strcmp(proxy_kind_name(PROXY_UNUSABLE), "unusable"));
}

static void long_logins_are_refused(void)
{
	char text[400] = "http://";

	memset(text + 7, 'a', 256);
	memcpy(text + 7 + 256, "@p.example", 11);
	CHECK(kind_of(text) == PROXY_UNUSABLE);
	CHECK(kind_of(text + 1) == PROXY_UNUSABLE);
	memmove(text + 7, text + 8, strlen(text + 8) + 1);
	CHECK(kind_of(text) == PROXY_HTTP && strlen(url.user) == 255);
}

int main(void)
{
	RUN(schemes_and_their_ports);
	RUN(a_login_is_decoded);
	RUN(what_is_not_understood_cannot_be_used);
	RUN(long_logins_are_refused);
	return DONE();
}
