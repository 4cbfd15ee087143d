/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_flaw.c - kernels that crash are known, and passed over
 */
#include "provision/kernel_flaw.h"

#include <stdbool.h>

#include "lib/tap.h"
#include "provision/debian_package.h"

#define NAME(abi) "linux-image-6.1.0-" abi "-cloud-amd64"
#define LINE(abi, version) \
	NAME(abi) " |  " version " | http://a.test m Packages\n"

static void versions_are_compared_as_numbers(void)
{
	CHECK(kernel_flaw("6.1.191-1") && kernel_flaw("6.1.192"));
	CHECK(kernel_flaw("6.1.192-1~bpo11+1"));
	CHECK(!kernel_flaw("6.1.190-1") && !kernel_flaw("6.1.193-1"));
	CHECK(!kernel_flaw("6.1.19-1") && !kernel_flaw("6.1.1920-1"));
	CHECK(!kernel_flaw("6.12.191-1") && !kernel_flaw("5.10.191-1"));
	CHECK(!kernel_flaw("") && !kernel_flaw("unknown"));
}

static bool takes(const char *text, const char *newest, const char *expected,
		  bool flawed)
{
	char name[64];
	const char *flaw = kernel_flaw_avoid(text, newest, name, sizeof(name));

	return !flaw == !flawed && strcmp(name, expected) == 0;
}

static void the_newest_older_one_without_a_flaw_is_taken(void)
{
	static const char text[] = LINE("9", "6.1.9-1") LINE("55", "6.1.192-1")
		LINE("53", "6.1.187-1") LINE("54", "6.1.190-1")
			LINE("54", "6.1.191-1") LINE("52", "6.1.180-1");

	CHECK(takes(text, NAME("55"), NAME("54"), true));
}

static void one_without_a_flaw_stays(void)
{
	static const char text[] =
		LINE("54", "6.1.190-1") LINE("55", "6.1.192-1");

	CHECK(takes(text, NAME("54"), NAME("54"), false));
	CHECK(takes(text, NAME("56"), NAME("56"), false));
	CHECK(takes("", NAME("55"), NAME("55"), false));
}

static void where_there_is_no_other_it_stays(void)
{
	CHECK(takes(LINE("55", "6.1.192-1"), NAME("55"), NAME("55"), true));
	CHECK(takes(LINE("55", "6.1.192-1") LINE("54", "6.1.191-1"), NAME("55"),
		    NAME("55"), true));
	/* one that came later is what the distribution has not chosen yet */
	CHECK(takes(LINE("55", "6.1.192-1") LINE("56", "6.1.200-1"), NAME("55"),
		    NAME("55"), true));
}

static void lines_that_say_nothing_are_left_out(void)
{
	const char *text = "N: a remark\n\n"
			   "    a |  1.0-1 | x\nb | 2\nno version |\n";
	struct debian_package package;

	REQUIRE(debian_package_next(&text, &package));
	CHECK(!strcmp(package.name, "a") && !strcmp(package.version, "1.0-1"));
	REQUIRE(debian_package_next(&text, &package));
	CHECK(!strcmp(package.name, "b") && !strcmp(package.version, "2"));
	CHECK(!debian_package_next(&text, &package) && !*text);
}

int main(void)
{
	RUN(versions_are_compared_as_numbers);
	RUN(the_newest_older_one_without_a_flaw_is_taken);
	RUN(one_without_a_flaw_stays);
	RUN(where_there_is_no_other_it_stays);
	RUN(lines_that_say_nothing_are_left_out);
	return DONE();
}
