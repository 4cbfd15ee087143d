/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_usage.c - numbers of a process, as the kernel writes them
 */
#include "cli/usage.h"
#include "lib/tap.h"

static void cpu_time_is_found_behind_any_name(void)
{
	static const char *const names[] = { "qemu", "a) R 1 (b", "))", "" };
	char text[256];
	uint64_t ms = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int len = snprintf(text, sizeof(text),
				   "42 (%s) S 1 42 42 0 -1 4194560 9 0 1 0 "
				   "150 50 0 0 20 0 6 0 100 4096 7\n",
				   names[i]);

		ms = 0;
		CHECK(usage_parse_stat(text, (size_t)len, 100, &ms) == 0);
		CHECK(ms == 2000);
	}
}

static void shared_pages_do_not_count(void)
{
	uint64_t bytes = 0;

	CHECK(usage_parse_statm("900 300 100 5 0 200 0\n", 22, 4096, &bytes) ==
	      0);
	CHECK(bytes == 200 * 4096);
	CHECK(usage_parse_statm("900 100 300 5 0 200 0\n", 22, 4096, &bytes) <
	      0);
}

static void what_is_cut_is_refused_or_right(void)
{
	static const char stat[] =
		"42 (x) S 1 42 42 0 -1 4194560 9 0 1 0 150 50 ";
	uint64_t value;

	for (size_t len = 0; len < sizeof(stat) - 4; len++)
		CHECK(usage_parse_stat(stat, len, 100, &value) < 0);
	CHECK(usage_parse_stat(stat, sizeof(stat) - 1, 0, &value) < 0);
	CHECK(usage_parse_statm("9", 1, 4096, &value) < 0);
	CHECK(usage_parse_statm("", 0, 4096, &value) < 0);
}

int main(void)
{
	RUN(cpu_time_is_found_behind_any_name);
	RUN(shared_pages_do_not_count);
	RUN(what_is_cut_is_refused_or_right);
	return DONE();
}
