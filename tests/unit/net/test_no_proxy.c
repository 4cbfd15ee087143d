/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_no_proxy.c - which hosts are reached without the host's proxy
 */
#include "net/no_proxy.h"

#include "lib/tap.h"
#include "wire/address.h"

static bool by_name(const char *list, const char *name)
{
	return no_proxy_has(list, name, NULL, 443);
}

static bool by_address(const char *list, const char *text)
{
	struct address address;

	CHECK(address_parse(text, strlen(text), &address) == 0);
	return no_proxy_has(list, NULL, &address, 443);
}

static void a_name_stands_for_those_below_it(void)
{
	CHECK(by_name("example.com", "example.com"));
	CHECK(by_name("example.com", "a.b.example.com"));
	CHECK(by_name(".example.com", "a.example.com"));
	CHECK(by_name("*.example.com", "a.example.com"));
	CHECK(by_name("x.org, EXAMPLE.com", "example.com"));
	CHECK(!by_name("example.com", "notexample.com"));
	CHECK(!by_name("example.com", "example.com.evil.org"));
	CHECK(!by_name("a.example.com", "example.com"));
}

static void a_star_is_everything_and_nothing_is_nothing(void)
{
	CHECK(by_name("*", "example.com"));
	CHECK(by_address("*", "203.0.113.1"));
	CHECK(!by_name("", "example.com"));
	CHECK(!by_name(NULL, "example.com"));
	CHECK(!by_name(", ,", "example.com"));
}

static void addresses_and_ranges_match_addresses(void)
{
	CHECK(by_address("203.0.113.1", "203.0.113.1"));
	CHECK(!by_address("203.0.113.1", "203.0.113.10"));
	CHECK(by_address("10.0.0.0/8,203.0.113.0/24", "203.0.113.10"));
	CHECK(!by_address("10.0.0.0/8", "11.0.0.1"));
	CHECK(by_address("2001:db8::/32", "2001:db8::1"));
	CHECK(by_address("[2001:db8::1]:443", "2001:db8::1"));
	CHECK(!by_name("10.0.0.0/8", "example.com"));
	CHECK(!by_address("example.com", "203.0.113.1"));
}

static void a_port_limits_an_entry(void)
{
	CHECK(by_name("example.com:443", "example.com"));
	CHECK(!by_name("example.com:80", "example.com"));
	CHECK(!by_address("203.0.113.1:80", "203.0.113.1"));
	CHECK(by_address("203.0.113.1:443", "203.0.113.1"));
}

int main(void)
{
	RUN(a_name_stands_for_those_below_it);
	RUN(a_star_is_everything_and_nothing_is_nothing);
	RUN(addresses_and_ranges_match_addresses);
	RUN(a_port_limits_an_entry);
	return DONE();
}
