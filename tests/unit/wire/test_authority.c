/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_authority.c - HOST[:PORT]
 */
#include "wire/authority.h"

#include "lib/tap.h"

static void hosts_and_ports_are_read(void)
{
	static const struct {
		const char *text, *host, *again;
		uint8_t family;
		uint16_t port;
	} cases[] = {
		{ "example.com", "example.com", "example.com", 0, 0 },
		{ "Example.COM.", "example.com", "example.com", 0, 0 },
		{ "example.com:80", "example.com", "example.com:80", 0, 80 },
		{ "EXAMPLE.com.:65535", "example.com", "example.com:65535", 0,
		  65535 },
		{ "localhost:1", "localhost", "localhost:1", 0, 1 },
		{ "1.2.3.4", "1.2.3.4", "1.2.3.4", 4, 0 },
		{ "1.2.3.4:443", "1.2.3.4", "1.2.3.4:443", 4, 443 },
		{ "[::1]", "::1", "[::1]", 6, 0 },
		{ "[2001:DB8::1]:8080", "2001:db8::1", "[2001:db8::1]:8080", 6,
		  8080 },
		{ "[::ffff:127.0.0.1]:80", "127.0.0.1", "127.0.0.1:80", 4, 80 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		char again[AUTHORITY_TEXT_SIZE];
		struct authority authority;

		CHECK(authority_parse(text, strlen(text), &authority) == 0);
		authority_format(&authority, again);
		if (strcmp(again, cases[i].again))
			printf("# %s %s\n", text, again);
		CHECK(!strcmp(authority.host, cases[i].host));
		CHECK(authority.address.family == cases[i].family);
		CHECK(authority.port == cases[i].port);
		CHECK(!strcmp(again, cases[i].again));
	}
}

static void what_could_be_read_differently_is_refused(void)
{
	static const char *const cases[] = {
		"",
		":",
		":80",
		"example.com:",
		"example.com:0",
		"example.com:080",
		"example.com:65536",
		"example.com:100000",
		"example.com:+80",
		"example.com:8 0",
		"example.com:http",
		"example.com:80:80",
		"example.com :80",
		" example.com",
		"example.com ",
		"user@example.com",
		"user:secret@example.com",
		"allowed.com@evil.com:80",
		"evil.com:80@allowed.com",
		"allowed.com,evil.com",
		"allowed.com evil.com",
		"allowed.com\tevil.com",
		"allowed.com/evil",
		"allowed.com#evil.com",
		"allowed.com?evil.com",
		"allowed.com\\evil.com",
		"allowed%2ecom",
		"http://example.com",
		"[example.com]",
		"[1.2.3.4]",
		"[]",
		"[",
		"]",
		"[::1",
		"::1]",
		"::1",
		"2001:db8::1:80",
		"[::1]80",
		"[::1]:",
		"[::1]:0",
		"[::1%lo]",
		"[::1%25lo]:80",
		"[[::1]]",
		"[::1]]",
		"[v1.x]",
		"127.1",
		"0x7f000001",
		"0177.0.0.1",
		"2130706433",
		"1.2.3.4.",
		"1.2.3.04",
		"exampl\xc3\xa9.com",
	};
	struct authority authority;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int result =
			authority_parse(cases[i], strlen(cases[i]), &authority);

		if (result == 0)
			printf("# %s\n", cases[i]);
		CHECK(result == -1);
		CHECK(authority.host[0] == '\0' && authority.port == 0);
	}
	CHECK(authority_parse("a.com\0", 6, &authority) < 0);
	CHECK(authority_parse("a.com\0.b.com", 12, &authority) < 0);
	CHECK(authority_parse("a.com:80\0", 9, &authority) < 0);
	CHECK(authority_parse("[::1\0]", 6, &authority) < 0);
	CHECK(authority_parse(NULL, 0, &authority) < 0);
}

static void nothing_is_read_behind_the_end(void)
{
	static const char *const texts[] = { "[2001:db8::1]:65535",
					     "example.com:65535" };
	struct authority authority;

	for (size_t i = 0; i < 2; i++) {
		for (size_t len = 0; len <= strlen(texts[i]); len++) {
			char *copy = malloc(len ? len : 1);

			memcpy(copy, texts[i], len);
			(void)authority_parse(copy, len, &authority);
			free(copy);
		}
		CHECK(authority.port == 65535);
	}
}

static void hosts_are_compared(void)
{
	struct authority a, b;

	CHECK(authority_parse("A.com:80", 8, &a) == 0);
	CHECK(authority_parse("a.com.", 6, &b) == 0);
	CHECK(authority_same_host(&a, &b));
	CHECK(authority_parse("b.com", 5, &b) == 0);
	CHECK(!authority_same_host(&a, &b));
}

int main(void)
{
	RUN(hosts_and_ports_are_read);
	RUN(what_could_be_read_differently_is_refused);
	RUN(nothing_is_read_behind_the_end);
	RUN(hosts_are_compared);
	return DONE();
}
