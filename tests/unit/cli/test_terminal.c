/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_terminal.c - the keys that let go
 */
#include "cli/terminal.h"
#include "lib/tap.h"

static struct terminal_keys keys;
static uint8_t out[64];
static size_t out_len;

static bool type(const char *typed)
{
	return terminal_keys_filter(&keys, (const uint8_t *)typed,
				    strlen(typed), out, &out_len);
}

static bool passed(const char *expected)
{
	return out_len == strlen(expected) && !memcmp(out, expected, out_len);
}

static void ordinary_keys_pass(void)
{
	keys = (struct terminal_keys){ 0 };
	CHECK(!type("hello\003\021") && passed("hello\003\021"));
}

static void the_sequence_lets_go_and_is_not_passed(void)
{
	keys = (struct terminal_keys){ 0 };
	CHECK(type("ab\020\021cd") && passed("ab"));
}

static void the_sequence_is_seen_over_two_reads(void)
{
	keys = (struct terminal_keys){ 0 };
	CHECK(!type("\020") && passed(""));
	CHECK(type("\021") && passed(""));
}

static void another_key_brings_the_held_one_along(void)
{
	keys = (struct terminal_keys){ 0 };
	CHECK(!type("\020") && passed(""));
	CHECK(!type("x") && passed("\020x"));
	CHECK(!type("\021") && passed("\021"));
}

static void a_second_ctrl_p_passes_the_first(void)
{
	keys = (struct terminal_keys){ 0 };
	CHECK(!type("\020\020") && passed("\020"));
	CHECK(type("\021") && passed(""));
}

int main(void)
{
	RUN(ordinary_keys_pass);
	RUN(the_sequence_lets_go_and_is_not_passed);
	RUN(the_sequence_is_seen_over_two_reads);
	RUN(another_key_brings_the_held_one_along);
	RUN(a_second_ctrl_p_passes_the_first);
	return DONE();
}
