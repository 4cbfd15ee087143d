/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_socks5.c - what a SOCKS 5 client says and hears
 */
#include "net/socks5.h"

#include "lib/tap.h"
#include "net/target.h"

static uint8_t out[SOCKS5_MESSAGE_MAX];

static void greetings(void)
{
	CHECK(socks5_encode_greeting(false, out) == 3);
	CHECK(!memcmp(out, "\5\1\0", 3));
	CHECK(socks5_encode_greeting(true, out) == 4);
	CHECK(!memcmp(out, "\5\2\0\2", 4));
	CHECK(socks5_encode_login("me", "secret", out) == 11);
	CHECK(!memcmp(out, "\1\2me\6secret", 11));
}

static void targets(void)
{
	struct target target = { .name = (char *)(uintptr_t) "x.example",
				 .port = 0x1234 };

	CHECK(socks5_encode_connect(&target, out) == 4 + 1 + 9 + 2);
	CHECK(!memcmp(out, "\5\1\0\3\11x.example\x12\x34", 16));
	target = (struct target){ .address = { ADDRESS_V4, { 203, 0, 113, 7 } },
				  .port = 80 };
	CHECK(socks5_encode_connect(&target, out) == 10);
	CHECK(!memcmp(out, "\5\1\0\1\xcb\0\x71\7\0\x50", 10));
	target = (struct target){ .address = { ADDRESS_V6, { [15] = 9 } },
				  .port = 80 };
	CHECK(socks5_encode_connect(&target, out) == 22 && out[3] == 4);
}

static void long_texts_fit(void)
{
	char text[256];

	memset(text, 'a', 255);
	text[255] = '\0';
	CHECK(socks5_encode_login(text, text, out) == 513);
}

static void choices(void)
{
	enum socks5_method method;

	CHECK(socks5_parse_choice((const uint8_t *)"\5", 1, &method) == 0);
	CHECK(socks5_parse_choice((const uint8_t *)"\5\0", 2, &method) == 2);
	CHECK(method == SOCKS5_PLAIN);
	CHECK(socks5_parse_choice((const uint8_t *)"\5\2x", 3, &method) == 2);
	CHECK(method == SOCKS5_LOGIN);
	CHECK(socks5_parse_choice((const uint8_t *)"\5\xff", 2, &method) < 0);
	CHECK(socks5_parse_choice((const uint8_t *)"\4\0", 2, &method) < 0);
	CHECK(socks5_parse_login_reply((const uint8_t *)"\1", 1) == 0);
	CHECK(socks5_parse_login_reply((const uint8_t *)"\1\0", 2) == 2);
	CHECK(socks5_parse_login_reply((const uint8_t *)"\1\1", 2) < 0);
}

static void replies_cut_at_every_byte(void)
{
	static const struct {
		const char *bytes;
		int len;
	} replies[] = {
		{ "\5\0\0\1\1\2\3\4\0\x50", 10 },
		{ "\5\0\0\3\3abc\0\x50", 10 },
		{ "\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", 22 },
	};

	for (size_t i = 0; i < 3; i++) {
		const uint8_t *bytes = (const uint8_t *)replies[i].bytes;

		for (int len = 0; len < replies[i].len; len++)
			CHECK(socks5_parse_connect_reply(bytes, (size_t)len) ==
			      0);
		CHECK(socks5_parse_connect_reply(
			      bytes, (size_t)replies[i].len) == replies[i].len);
	}
	CHECK(socks5_parse_connect_reply((const uint8_t *)"\5\1\0\1\0", 5) < 0);
	CHECK(socks5_parse_connect_reply((const uint8_t *)"\5\0\0\2\0", 5) < 0);
	CHECK(socks5_parse_connect_reply((const uint8_t *)"\4\0\0\1\0", 5) < 0);
	CHECK(socks5_parse_connect_reply((const uint8_t *)"\5\0\1\1\0", 5) < 0);
}

int main(void)
{
	RUN(greetings);
	RUN(targets);
	RUN(long_texts_fit);
	RUN(choices);
	RUN(replies_cut_at_every_byte);
	return DONE();
}
