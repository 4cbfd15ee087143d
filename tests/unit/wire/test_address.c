/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_address.c - IPv4 and IPv6 addresses and ranges of them
 */
#include "wire/address.h"

#include "lib/tap.h"

static struct address parse(const char *text)
{
	struct address address;

	if (address_parse(text, strlen(text), &address) < 0) {
		printf("# %s\n", text);
		CHECK(!"an address");
	}
	return address;
}

static struct cidr parse_range(const char *text)
{
	struct cidr range;

	if (cidr_parse(text, strlen(text), &range) < 0) {
		printf("# %s\n", text);
		CHECK(!"a range");
	}
	return range;
}

static void addresses_have_one_text(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "1.2.3.4", "1.2.3.4" },
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:db8::0001", "2001:db8::1" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::FFFF:102:304", "1.2.3.4" },
		{ "0:0:0:0:0:ffff:7f00:1", "127.0.0.1" },
		{ "64:ff9b::1.2.3.4", "64:ff9b::102:304" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address address = parse(cases[i].text), again;
		char text[ADDRESS_TEXT_SIZE];

		address_format(&address, text);
		if (strcmp(text, cases[i].want))
			printf("# %s\n", text);
		CHECK(strcmp(text, cases[i].want) == 0);
		again = parse(text);
		CHECK(address_equal(&address, &again));
	}
}

static void texts_that_are_no_addresses_are_refused(void)
{
	static const char *const cases[] = {
		"",
		"1",
		"1.2.3",
		"1.2.3.4.5",
		"1.2.3.256",
		"01.2.3.4",
		"1.2.3.04",
		"0x7f.0.0.1",
		"0177.0.0.1",
		"2130706433",
		"127.1",
		"1.2.3.4.",
		".1.2.3.4",
		"1..2.3",
		" 1.2.3.4",
		"1.2.3.4 ",
		"1.2.3.4\n",
		"+1.2.3.4",
		"-1.2.3.4",
		"1.2.3.4/8",
		"1.2.3.4:80",
		"[::1]",
		"::1%lo",
		"fe80::1%25eth0",
		":",
		":::",
		"1::2::3",
		"::12345",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"1:2:3:4:5:6:7:",
		":1:2:3:4:5:6:7",
		"::g",
		"::1.2.3",
		"::1.2.3.4.5",
		"::1.2.3.04",
		"1.2.3.4::",
		"example.com",
		"1:2:3:4:5:6:7::8:9",
		"::ffff:1.2.3.4 ",
		"0000:0000:0000:0000:0000:ffff:0127.000.000.001",
	};
	struct address address;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (address_parse(cases[i], strlen(cases[i]), &address) == 0)
			printf("# %s\n", cases[i]);
		CHECK(address_parse(cases[i], strlen(cases[i]), &address) < 0);
		CHECK(address.family == 0);
	}
	CHECK(address_parse("1.2.3.4\0", 8, &address) < 0);
	CHECK(address_parse("1.2.3\0.4", 8, &address) < 0);
	CHECK(address_parse("::1\0", 4, &address) < 0);
	CHECK(address_parse(NULL, 0, &address) < 0);
}

static void nothing_is_read_behind_the_end(void)
{
	static const char text[] =
		"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128";
	struct address address;
	struct cidr range;

	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		(void)address_parse(copy, len, &address);
		(void)cidr_parse(copy, len, &range);
		free(copy);
	}
	CHECK(cidr_parse(text, sizeof(text) - 1, &range) == 0);
}

static void messages_make_addresses(void)
{
	uint8_t bytes[16] = { 1, 2, 3, 4 };
	const uint8_t mapped[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct address address, want = parse("1.2.3.4");

	CHECK(address_make(4, bytes, &address) == 0);
	CHECK(address_equal(&address, &want));
	CHECK(address_make(6, bytes, &address) == 0);
	CHECK(address.family == ADDRESS_V6 && address.bytes[3] == 4);
	bytes[15] = 1;
	CHECK(address_make(4, bytes, &address) < 0);
	CHECK(address_make(0, bytes, &address) < 0);
	CHECK(address_make(5, bytes, &address) < 0);
	want = parse("127.0.0.1");
	CHECK(address_make(6, mapped, &address) == 0);
	CHECK(address_equal(&address, &want));
}

static void ranges_have_one_text(void)
{
	static const struct {
		const char *text, *want;
		int result;
	} cases[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", 0 },
		{ "10.1.2.3/8", "10.0.0.0/8", 1 },
		{ "1.2.3.4/32", "1.2.3.4/32", 0 },
		{ "1.2.3.4/0", "0.0.0.0/0", 1 },
		{ "0.0.0.0/0", "0.0.0.0/0", 0 },
		{ "192.168.255.255/17", "192.168.128.0/17", 1 },
		{ "::/0", "::/0", 0 },
		{ "2001:db8::1/33", "2001:db8::/33", 1 },
		{ "2001:db8::1/128", "2001:db8::1/128", 0 },
		{ "::ffff:10.0.0.0/104", "10.0.0.0/8", 0 },
		{ "::ffff:0:0/96", "0.0.0.0/0", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[CIDR_TEXT_SIZE];
		struct cidr range;

		CHECK(cidr_parse(cases[i].text, strlen(cases[i].text),
				 &range) == cases[i].result);
		cidr_format(&range, text);
		if (strcmp(text, cases[i].want))
			printf("# %s\n", text);
		CHECK(strcmp(text, cases[i].want) == 0);
	}
}

static void texts_that_are_no_ranges_are_refused(void)
{
	static const char *const cases[] = {
		"",
		"/",
		"10.0.0.0",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/08",
		"10.0.0.0/+8",
		"10.0.0.0/-1",
		"10.0.0.0/8 ",
		"10.0.0.0/8/8",
		"10.0.0.0/1000",
		"10/8",
		"::/129",
		"::/0x1",
		"[::]/0",
		"::ffff:0:0/90",
		"::ffff:1.2.3.4/95",
		"10.0.0.0/255.0.0.0",
		"10.0.0.0 /8",
		"/8",
		"::ffff:1.2.3.4/129",
	};
	struct cidr range;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cidr_parse(cases[i], strlen(cases[i]), &range) >= 0)
			printf("# %s\n", cases[i]);
		CHECK(cidr_parse(cases[i], strlen(cases[i]), &range) < 0);
	}
}

static void ranges_contain_their_addresses(void)
{
	static const struct {
		const char *range, *address;
		bool want;
	} cases[] = {
		{ "10.0.0.0/8", "10.255.255.255", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "9.255.255.255", false },
		{ "10.0.0.0/8", "::ffff:10.0.0.1", true },
		{ "10.0.0.0/8", "a00::", false },
		{ "0.0.0.0/0", "255.255.255.255", true },
		{ "0.0.0.0/0", "::", false },
		{ "::/0", "1.2.3.4", false },
		{ "::/0", "ffff::1", true },
		{ "1.2.3.4/31", "1.2.3.5", true },
		{ "1.2.3.4/31", "1.2.3.6", false },
		{ "2001:db8::/33", "2001:db8:7fff::", true },
		{ "2001:db8::/33", "2001:db8:8000::", false },
		{ "::1/128", "::1", true },
		{ "::1/128", "::2", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cidr range = parse_range(cases[i].range);
		struct address address = parse(cases[i].address);

		if (cidr_contains(&range, &address) != cases[i].want)
			printf("# %s %s\n", cases[i].range, cases[i].address);
		CHECK(cidr_contains(&range, &address) == cases[i].want);
	}
}

/* First and last of each range, and the neighbours outside. */
static void near_addresses_are_guarded(void)
{
	static const char *const guarded[] = {
		"0.0.0.0",
		"0.255.255.255",
		"10.0.0.0",
		"10.255.255.255",
		"100.64.0.0",
		"100.127.255.255",
		"127.0.0.0",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.0.0",
		"169.254.169.254",
		"169.254.255.255",
		"172.16.0.0",
		"172.31.255.255",
		"192.0.0.0",
		"192.0.0.255",
		"192.168.0.0",
		"192.168.255.255",
		"224.0.0.0",
		"239.255.255.255",
		"240.0.0.1",
		"255.255.255.255",
		"168.63.129.16",
		"::",
		"::1",
		"fc00::",
		"fd00:ec2::254",
		"fe80::1",
		"febf::",
		"fec0::1",
		"feff::",
		"ff02::1",
		"::ffff:127.0.0.1",
		"::ffff:a9fe:a9fe",
		"::127.0.0.1",
		"::10.0.0.1",
		"64:ff9b::10.0.0.1",
		"64:ff9b::7f00:1",
		"64:ff9b:1::1.1.1.1",
		"2002:7f00:1::",
		"2002:a9fe:a9fe::1",
		"2002:c0a8:101::",
		"2001:0:7f00:1::",
		"2001:0:102:304:0:0:80ff:fffe",
	};
	static const char *const open[] = {
		"1.0.0.0",
		"1.1.1.1",
		"9.255.255.255",
		"11.0.0.0",
		"100.63.255.255",
		"100.128.0.0",
		"126.255.255.255",
		"128.0.0.0",
		"168.63.129.15",
		"168.63.129.17",
		"169.253.255.255",
		"169.255.0.0",
		"172.15.255.255",
		"172.32.0.0",
		"191.255.255.255",
		"192.0.1.0",
		"192.167.255.255",
		"192.169.0.0",
		"223.255.255.255",
		"198.18.0.1",
		"2606:4700::1111",
		"fbff::",
		"fe7f::",
		"64:ff9b::1.1.1.1",
		"2002:101:101::",
		"::ffff:8.8.8.8",
		"2001:0:102:304::fefe:fefe",
		"2001:4860:4860::8888",
	};

	for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++) {
		struct address address = parse(guarded[i]);

		if (!address_is_guarded(&address))
			printf("# %s\n", guarded[i]);
		CHECK(address_is_guarded(&address));
	}
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		struct address address = parse(open[i]);

		if (address_is_guarded(&address))
			printf("# %s\n", open[i]);
		CHECK(!address_is_guarded(&address));
	}
	CHECK(address_is_guarded(&(struct address){ 0 }));
}

static void a_range_is_guarded_only_as_a_whole(void)
{
	static const struct {
		const char *range;
		bool want;
	} cases[] = {
		{ "10.0.0.0/8", true },
		{ "10.1.2.0/24", true },
		{ "127.0.0.1/32", true },
		{ "224.0.0.0/3", true },
		{ "fd00::/8", true },
		{ "fc00::/7", true },
		{ "fe80::1/128", true },
		/* wider than what is guarded in it, or beside it */
		{ "0.0.0.0/0", false },
		{ "0.0.0.0/1", false },
		{ "10.0.0.0/7", false },
		{ "192.0.0.0/8", false },
		{ "192.168.0.0/15", false },
		{ "8.8.8.0/24", false },
		{ "::/0", false },
		{ "fc00::/6", false },
		{ "fe00::/7", false },
		{ "2000::/3", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cidr range = parse_range(cases[i].range);

		if (cidr_is_guarded(&range) != cases[i].want)
			printf("# %s\n", cases[i].range);
		CHECK(cidr_is_guarded(&range) == cases[i].want);
	}
}

static void embedded_addresses_are_found(void)
{
	static const struct {
		const char *outer, *inner; /* NULL: none */
	} cases[] = {
		{ "64:ff9b::203.0.113.5", "203.0.113.5" },
		{ "2002:cb00:7105::1", "203.0.113.5" },
		{ "::203.0.113.5", NULL }, /* no network does that any more */
		{ "::1", NULL },
		{ "203.0.113.5", NULL },
		{ "64:ff9b:0:0:0:1:203.0.113.5", NULL },
		{ "64:ff9c::203.0.113.5", NULL },
		{ "2001:db8::203.0.113.5", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address outer = parse(cases[i].outer), inner, want;
		int found = address_embedded(&outer, &inner);

		if ((found == 0) != (cases[i].inner != NULL))
			printf("# %s\n", cases[i].outer);
		CHECK((found == 0) == (cases[i].inner != NULL));
		if (found < 0 || !cases[i].inner)
			continue;
		want = parse(cases[i].inner);
		CHECK(address_equal(&inner, &want));
	}
}

int main(void)
{
	RUN(addresses_have_one_text);
	RUN(texts_that_are_no_addresses_are_refused);
	RUN(nothing_is_read_behind_the_end);
	RUN(messages_make_addresses);
	RUN(ranges_have_one_text);
	RUN(texts_that_are_no_ranges_are_refused);
	RUN(ranges_contain_their_addresses);
	RUN(near_addresses_are_guarded);
	RUN(a_range_is_guarded_only_as_a_whole);
	RUN(embedded_addresses_are_found);
	return DONE();
}
