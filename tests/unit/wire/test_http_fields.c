/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_http_fields.c - the list of header fields
 */
#include "wire/http_fields.h"

#include <stdint.h>

#include "lib/tap.h"

static struct http_fields fields;

static int add(const char *name, const char *value)
{
	return http_fields_add(&fields, span_of(name), span_of(value));
}

static void fields_are_found_in_any_case(void)
{
	const struct http_field *field;

	http_fields_init(&fields);
	CHECK(add("Accept", "a") == 0 && add("X-One", "1") == 0 &&
	      add("ACCEPT", "b") == 0 && add("X-Two", "") == 0);
	field = http_fields_find(&fields, "accept", NULL);
	REQUIRE(field);
	CHECK(span_is(field->value, "a") && span_is(field->name, "Accept"));
	field = http_fields_find(&fields, "accept", field);
	REQUIRE(field);
	CHECK(span_is(field->value, "b"));
	CHECK(!http_fields_find(&fields, "accept", field));
	CHECK(!http_fields_find(&fields, "accep", NULL));
	CHECK(!http_fields_find(&fields, "accepts", NULL));
	CHECK(http_fields_count(&fields, "aCCept") == 2);
	CHECK(http_fields_count(&fields, "host") == 0);
}

static void removed_fields_leave_the_order(void)
{
	http_fields_init(&fields);
	CHECK(add("A", "1") == 0 && add("B", "2") == 0 && add("a", "3") == 0 &&
	      add("C", "4") == 0);
	CHECK(http_fields_remove(&fields, "a") == 2);
	CHECK(fields.count == 2);
	CHECK(span_is(fields.list[0].name, "B"));
	CHECK(span_is(fields.list[1].name, "C"));
	CHECK(http_fields_remove(&fields, "a") == 0);
}

static void what_would_split_a_message_is_refused(void)
{
	static const char *const names[] = {
		"",   " ",   "a b",   "a:",       "a\r", "a\n", "\r\na", "a\t",
		"(a", "a,b", "a\x7f", "\xc3\xa4", "a/b", "a@b", "[a]",   "{a",
	};
	static const char *const values[] = {
		"a\r\nB: c",
		"a\nB: c",
		"a\rB",
		"a\x01",
		"a\x7f",
		"a\x0b"
		"b",
		"a\x1b[2J",
	};

	http_fields_init(&fields);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (add(names[i], "x") == 0)
			printf("# %s\n", names[i]);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (add("X", values[i]) == 0)
			printf("# %s\n", values[i]);
	}
	CHECK(http_fields_add(&fields, span_of("X"), span_over("a\0b", 3)) < 0);
	CHECK(http_fields_add(&fields, span_over("X\0", 2), span_of("a")) < 0);
	CHECK(fields.count == 0);
	CHECK(add("!#$%&'*+-.^_`|~09azAZ", "\xc3\xa4 \t\"x\"") == 0);
}

static void every_byte_has_its_class(void)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (int c = 0; c < 256; c++) {
		char byte = (char)c;
		struct span text = span_over(&byte, 1);
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		bool digit = c >= '0' && c <= '9';

		CHECK(http_is_token(text) ==
		      (letter || digit || (c && strchr(marks, c))));
		CHECK(http_is_value(text) ==
		      (c == '\t' || (c >= 32 && c != 127)));
		CHECK(http_is_target(text) == (c > 32 && c < 127 && c != '#'));
	}
}

static void values_are_trimmed(void)
{
	http_fields_init(&fields);
	CHECK(add("A", " \t x y \t ") == 0);
	CHECK(span_is(fields.list[0].value, "x y"));
	CHECK(add("B", " \t ") == 0);
	CHECK(fields.list[1].value.len == 0);
}

static void the_list_is_bounded(void)
{
	http_fields_init(&fields);
	for (size_t i = 0; i < HTTP_FIELDS_MAX; i++)
		CHECK(add("A", "b") == 0);
	CHECK(add("A", "b") < 0);
	CHECK(fields.count == HTTP_FIELDS_MAX);
}

static void copies_outlive_their_source(void)
{
	char name[] = "Name", value[] = "value", arena[12];

	http_fields_init(&fields);
	CHECK(http_fields_add_copy(&fields, span_of(name), span_of(value)) < 0);
	http_fields_use_arena(&fields, arena, sizeof(arena));
	CHECK(http_fields_add_copy(&fields, span_of(name), span_of(value)) ==
	      0);
	memset(name, 'x', 4);
	memset(value, 'x', 5);
	CHECK(span_is(fields.list[0].name, "Name"));
	CHECK(span_is(fields.list[0].value, "value"));
	/* What does not fit leaves nothing behind. */
	CHECK(http_fields_add_copy(&fields, span_of("ab"), span_of("cd")) < 0);
	CHECK(http_fields_add_copy(&fields, span_of("a"), span_of("\n")) < 0);
	CHECK(fields.count == 1 && fields.arena_used == 9);
	CHECK(http_fields_add_copy(&fields, span_of("a"), span_of("bc")) == 0);
	CHECK(http_fields_add_copy(&fields, span_of("a"), span_of("")) < 0);
}

static void lists_are_split_at_commas(void)
{
	struct span rest = span_of(" a , b,,\t,c d ,"), element;

	CHECK(http_list_next(&rest, &element) && span_is(element, "a"));
	CHECK(http_list_next(&rest, &element) && span_is(element, "b"));
	CHECK(http_list_next(&rest, &element) && span_is(element, "c d"));
	CHECK(!http_list_next(&rest, &element));
	rest = span_of("");
	CHECK(!http_list_next(&rest, &element));
	http_fields_init(&fields);
	CHECK(add("Vary", "a, B") == 0 && add("vary", "c") == 0);
	CHECK(http_fields_has_token(&fields, "Vary", "b"));
	CHECK(http_fields_has_token(&fields, "Vary", "C"));
	CHECK(!http_fields_has_token(&fields, "Vary", "a, B"));
	CHECK(!http_fields_has_token(&fields, "Var", "a"));
}

int main(void)
{
	RUN(fields_are_found_in_any_case);
	RUN(removed_fields_leave_the_order);
	RUN(what_would_split_a_message_is_refused);
	RUN(every_byte_has_its_class);
	RUN(values_are_trimmed);
	RUN(the_list_is_bounded);
	RUN(copies_outlive_their_source);
	RUN(lists_are_split_at_commas);
	return DONE();
}
