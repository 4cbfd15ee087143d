/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_target.c - what a guest wants to reach
 */
#include "net/target.h"

#include "base/error.h"
#include "lib/tap.h"
#include "net/names.h"

static struct names names;
static struct target target;

static enum target_result by_address(const char *text, uint16_t port)
{
	struct address address;

	CHECK(address_parse(text, strlen(text), &address) == 0);
	return target_from_address(&names, &address, port, &target);
}

static enum target_result by_authority(const char *text, uint16_t port)
{
	struct authority authority;

	CHECK(authority_parse(text, strlen(text), &authority) == 0);
	return target_from_authority(&names, &authority, port, &target);
}

static bool is_name(const char *name)
{
	bool same = target.name && !strcmp(target.name, name) &&
		    !target.address.family;

	target_release(&target);
	return same;
}

static bool called(const char *text)
{
	struct authority authority;

	return authority_parse(text, strlen(text), &authority) == 0 &&
	       target_is_called(&target, &authority, 80);
}

static void an_address_that_was_given_is_its_name(void)
{
	CHECK(by_address("198.18.0.1", 443) == TARGET_GOOD);
	CHECK(target.port == 443 && !target.is_host && is_name("a.example"));
	CHECK(by_address("::ffff:198.18.0.1", 80) == TARGET_GOOD);
	CHECK(is_name("a.example"));
	CHECK(by_address("198.18.0.2", 80) == TARGET_UNKNOWN);
	CHECK(by_address("198.19.255.1", 80) == TARGET_UNKNOWN);
	CHECK(by_address("198.19.255.3", 3128) == TARGET_UNKNOWN);
	CHECK(by_address("198.18.0.0", 80) == TARGET_UNKNOWN);
}

static void the_host_has_several_spellings(void)
{
	CHECK(by_address("198.19.255.2", 5432) == TARGET_GOOD);
	CHECK(target.is_host && is_name("localhost"));
	CHECK(by_address("127.0.0.1", 5432) == TARGET_GOOD);
	CHECK(target.is_host && is_name("localhost"));
	CHECK(by_address("::1", 5432) == TARGET_GOOD && is_name("localhost"));
	CHECK(by_authority("host.docker.internal:5432", 80) == TARGET_GOOD);
	CHECK(target.is_host && target.port == 5432 && is_name("localhost"));
	CHECK(by_authority("gateway.docker.internal", 80) == TARGET_GOOD);
	CHECK(target.is_host && is_name("localhost"));
	CHECK(by_authority("LocalHost:81", 80) == TARGET_GOOD);
	CHECK(target.is_host && is_name("localhost"));
}

static void other_addresses_are_literal(void)
{
	CHECK(by_address("203.0.113.7", 22) == TARGET_GOOD && !target.name);
	CHECK(target.address.family == ADDRESS_V4 && target.port == 22);
	CHECK(by_address("127.0.0.2", 80) == TARGET_GOOD && !target.name);
	CHECK(by_address("2001:db8::1", 80) == TARGET_GOOD && !target.name);
	CHECK(by_authority("[2001:db8::1]:8080", 80) == TARGET_GOOD);
	CHECK(!target.name && target.port == 8080);
	CHECK(by_authority("198.18.0.1:443", 80) == TARGET_GOOD);
	CHECK(is_name("a.example"));
}

static void our_proxy_is_no_target(void)
{
	CHECK(by_address("198.19.255.2", 3128) == TARGET_PROXY);
	CHECK(by_authority("host.docker.internal:3128", 80) == TARGET_PROXY);
	CHECK(by_authority("198.19.255.2:3128", 80) == TARGET_PROXY);
	CHECK(by_authority("localhost:3128", 80) == TARGET_PROXY);
}

static void special_names_do_not_exist(void)
{
	CHECK(by_authority("printer.local", 80) == TARGET_SPECIAL);
	CHECK(by_authority("intranet", 80) == TARGET_SPECIAL);
	CHECK(by_authority("a.localhost", 80) == TARGET_SPECIAL);
	CHECK(by_authority("x.internal", 80) == TARGET_SPECIAL);
	CHECK(!target.name);
}

static void a_request_must_call_it_by_its_name(void)
{
	target = (struct target){ .name = (char *)(uintptr_t) "a.example",
				  .port = 80 };
	CHECK(called("a.example") && called("A.Example.:80"));
	CHECK(!called("a.example:8080") && !called("b.example"));
	CHECK(!called("198.18.0.1") && !called("x.a.example"));
	target.port = 8080;
	CHECK(called("a.example:8080") && !called("a.example"));
	target = (struct target){ .address = { ADDRESS_V4, { 203, 0, 113, 7 } },
				  .port = 80 };
	CHECK(called("203.0.113.7") && !called("203.0.113.8"));
	CHECK(!called("a.example") && called("[::ffff:203.0.113.7]"));
	target = (struct target){ .name = (char *)(uintptr_t) "localhost",
				  .is_host = true,
				  .port = 80 };
	CHECK(called("localhost") && called("host.docker.internal"));
	CHECK(called("127.0.0.1") && called("[::1]"));
	CHECK(!called("127.0.0.2") && !called("a.example"));
}

static void texts_for_rules(void)
{
	char text[AUTHORITY_TEXT_SIZE];

	target = (struct target){ .name = (char *)(uintptr_t) "a.example",
				  .port = 443 };
	target_format(&target, text);
	CHECK(!strcmp(text, "a.example"));
	target.port = 22;
	target_format(&target, text);
	CHECK(!strcmp(text, "a.example:22"));
	target = (struct target){ .address = { ADDRESS_V6, { [15] = 1 } },
				  .port = 22 };
	target_format(&target, text);
	CHECK(!strcmp(text, "[::1]:22"));
}

static void sameness(void)
{
	struct target a = { .name = (char *)(uintptr_t) "a.example",
			    .port = 80 };
	struct target b = a;

	CHECK(target_same(&a, &b));
	b.port = 81;
	CHECK(!target_same(&a, &b));
	b = (struct target){ .address = { ADDRESS_V4, { 1, 2, 3, 4 } },
			     .port = 80 };
	CHECK(!target_same(&a, &b) && target_same(&b, &b));
}

int main(void)
{
	struct address address;
	struct error err = { 0 };

	if (names_open(&names, -1, &err) < 0 ||
	    names_address(&names, "a.example", NAMES_MATCHED, &address, &err) <
		    0)
		return 1;
	RUN(an_address_that_was_given_is_its_name);
	RUN(the_host_has_several_spellings);
	RUN(other_addresses_are_literal);
	RUN(our_proxy_is_no_target);
	RUN(special_names_do_not_exist);
	RUN(a_request_must_call_it_by_its_name);
	RUN(texts_for_rules);
	RUN(sameness);
	names_release(&names);
	return DONE();
}
