/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base64.c - unit tests of wire/base64.h
 */
#include "wire/base64.h"

#include <stdint.h>

#include "lib/tap.h"

static void the_examples_of_the_rfc_work(void)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xfb\xff", "+/8=" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[16], back[16];
		size_t len =
			base64_encode(rows[i][0], strlen(rows[i][0]), text);

		CHECK(len == strlen(rows[i][1]) &&
		      memcmp(text, rows[i][1], len) == 0);
		CHECK(base64_decode(text, len, back) ==
		      (int)strlen(rows[i][0]));
		CHECK(memcmp(back, rows[i][0], strlen(rows[i][0])) == 0);
	}
}

static void what_is_no_base64_is_refused(void)
{
	static const char *const rows[] = { "Z",        "Zg=",  "Zg",
					    "Zg==Zg==", "Z===", "====",
					    "Zm9 ",     "Zm-_", "Zm9\n" };
	char back[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK(base64_decode(rows[i], strlen(rows[i]), back) < 0);
	CHECK(base64_decode("Zm\0v", 4, back) < 0);
}

static void every_length_comes_back(void)
{
	uint8_t bytes[64], back[BASE64_SIZE(64)];
	char text[BASE64_SIZE(64)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 200);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		size_t coded = base64_encode(bytes, len, text);

		CHECK(coded == BASE64_SIZE(len));
		CHECK(base64_decode(text, coded, back) == (int)len);
		CHECK(memcmp(bytes, back, len) == 0);
	}
}

int main(void)
{
	RUN(the_examples_of_the_rfc_work);
	RUN(what_is_no_base64_is_refused);
	RUN(every_length_comes_back);
	return DONE();
}
