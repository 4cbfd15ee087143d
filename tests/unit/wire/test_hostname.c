/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hostname.c - one spelling for each host name
 */
#include "wire/hostname.h"

#include <arpa/inet.h>

#include "lib/tap.h"

static char out[HOSTNAME_MAX + 1];

/* A string literal with NULs inside keeps its length. */
#define CANONICAL(text) hostname_canonical(text, sizeof(text) - 1, out)

static const char label_63[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			       "aaaaaaaaaaaaaaaaaaaaaaa";

static void spellings_become_one(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "example.com", "example.com" },
		{ "EXAMPLE.Com", "example.com" },
		{ "example.com.", "example.com" },
		{ "a", "a" },
		{ "a.", "a" },
		{ "localhost", "localhost" },
		{ "xn--BCHER-kva.example", "xn--bcher-kva.example" },
		{ "r3---sn-4g5.example.com", "r3---sn-4g5.example.com" },
		{ "_dmarc._TCP.example.com", "_dmarc._tcp.example.com" },
		{ "a_b.example.com", "a_b.example.com" },
		{ "_.example.com", "_.example.com" },
		{ "1.2.3.4.example", "1.2.3.4.example" },
		{ "0x7f.example", "0x7f.example" },
		{ "127.0.0.1.nip.io", "127.0.0.1.nip.io" },
		{ "3com.com", "3com.com" },
		{ "x.0x7g", "x.0x7g" },
		{ "x.0y", "x.0y" },
		{ "deadbeef", "deadbeef" },
		{ "x.1a", "x.1a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int len = hostname_canonical(cases[i].text,
					     strlen(cases[i].text), out);

		if (len != (int)strlen(cases[i].want))
			printf("# %s\n", cases[i].text);
		CHECK(len == (int)strlen(cases[i].want));
		CHECK(strcmp(out, cases[i].want) == 0);
	}
}

static void texts_that_are_no_names_are_refused(void)
{
	static const char *const cases[] = {
		"",
		".",
		"..",
		".example.com",
		"example..com",
		"example.com..",
		"-a.example",
		"a-.example",
		"a.-",
		"-",
		"exa mple.com",
		" example.com",
		"example.com ",
		"example.com\n",
		"example.com\r\n",
		"example.com\t",
		"exam\x7fple.com",
		"ex%61mple.com",
		"example.com%00.evil.com",
		"b\xc3\xbc"
		"cher.example",
		"\xef\xbd\x85xample.com", /* full-width e */
		"example\xe3\x80\x82"
		"com", /* ideographic full stop */
		"example.com:443",
		"user@example.com",
		"example.com/",
		"example.com\\",
		"*.example.com",
		"[::1]",
		"::1",
		"fe80::1%eth0",
		"a,b.example",
		"a;b",
		"a'b",
		"a\"b",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int len = hostname_canonical(cases[i], strlen(cases[i]), out);

		if (len != -1)
			printf("# %s\n", cases[i]);
		CHECK(len == -1);
		CHECK(out[0] == '\0');
	}
	CHECK(CANONICAL("\0") == -1);
	CHECK(CANONICAL("allowed.com\0.evil.com") == -1);
	CHECK(CANONICAL("evil.com\0") == -1);
	CHECK(CANONICAL("\0evil.com") == -1);
	CHECK(hostname_canonical(NULL, 0, out) == -1);
}

static void numbers_are_never_names(void)
{
	static const char *const cases[] = {
		"127.0.0.1",
		"127.0.0.1.",
		"127.1",
		"127.0.1",
		"2130706433",
		"017700000001",
		"0x7f000001",
		"0x7f.1",
		"0X7F.0.0.1",
		"0177.0.0.1",
		"127.0.0.0x1",
		"127.0.0.01",
		"0",
		"0x",
		"1.2.3.4.5",
		"example.1",
		"example.08",
		"example.0x",
		"4294967296",
		"example.0xfF",
		"192.168.257",
		"1.2.3.0x",
		"256.256.256.256",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hostname_canonical(cases[i], strlen(cases[i]), out) != -1)
			printf("# %s\n", cases[i]);
		CHECK(hostname_canonical(cases[i], strlen(cases[i]), out) ==
		      -1);
	}
}

/* Every text of up to 5 bytes of what a number can be made of. */
static void what_libc_takes_for_an_address_is_refused(void)
{
	static const char digits[] = "018xXa.f-";
	const size_t base = sizeof(digits) - 1;
	size_t total = 1, refused = 0;
	struct in_addr ignored;
	char text[6];

	for (size_t len = 1; len < sizeof(text); len++) {
		total *= base;
		for (size_t n = 0; n < total; n++) {
			size_t rest = n;

			for (size_t i = 0; i < len; i++, rest /= base)
				text[i] = digits[rest % base];
			text[len] = '\0';
			if (!inet_aton(text, &ignored))
				continue;
			refused++;
			CHECK(hostname_canonical(text, len, out) == -1);
		}
	}
	printf("# %zu texts\n", refused);
	CHECK(refused > 500);
}

static void every_byte_but_the_allowed_is_refused(void)
{
	for (int c = 0; c < 256; c++) {
		char text[] = { 'a', (char)c, 'b', '.', 'c' };
		bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			    c == '.';

		CHECK((hostname_canonical(text, sizeof(text), out) > 0) ==
		      fine);
	}
}

static void lengths_are_bounded(void)
{
	char name[400];

	CHECK(hostname_canonical(label_63, 63, out) == 63);
	memset(name, 'a', sizeof(name));
	CHECK(hostname_canonical(name, 64, out) == -1);
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	CHECK(hostname_canonical(name, HOSTNAME_MAX, out) == HOSTNAME_MAX);
	CHECK(strlen(out) == HOSTNAME_MAX);
	CHECK(hostname_canonical(name, HOSTNAME_MAX + 1, out) == -1);
	name[HOSTNAME_MAX] = '.';
	CHECK(hostname_canonical(name, HOSTNAME_MAX + 1, out) == HOSTNAME_MAX);
	CHECK(hostname_canonical(name, sizeof(name), out) == -1);
}

static void nothing_is_read_behind_the_end(void)
{
	static const char text[] = "Api.Example-1.com.";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		(void)hostname_canonical(copy, len, out);
		free(copy);
	}
	CHECK(strcmp(out, "api.example-1.com") == 0);
}

static void special_names_are_told(void)
{
	static const char *const special[] = {
		"localhost",       "a.localhost",
		"printer.local",   "intranet",
		"x.internal",      "metadata.google.internal",
		"a.invalid",       "a.onion",
		"a.alt",           "home.arpa",
		"nas.home.arpa",   "1.0.0.127.in-addr.arpa",
		"docker.internal", "x.host.docker.internal",
	};
	static const char *const ordinary[] = {
		"example.com",
		"a.test",
		"a.example",
		"host.docker.internal",
		"gateway.docker.internal",
		"local.example.com",
		"mylocal.com",
		"x.notlocal",
		"internal.example.com",
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		CHECK(hostname_is_special(special[i]));
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++)
		CHECK(!hostname_is_special(ordinary[i]));
}

int main(void)
{
	RUN(spellings_become_one);
	RUN(texts_that_are_no_names_are_refused);
	RUN(numbers_are_never_names);
	RUN(what_libc_takes_for_an_address_is_refused);
	RUN(every_byte_but_the_allowed_is_refused);
	RUN(lengths_are_bounded);
	RUN(nothing_is_read_behind_the_end);
	RUN(special_names_are_told);
	return DONE();
}
