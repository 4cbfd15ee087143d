/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_json_line.c - lines are valid JSON, whatever is in them
 */
#include "net/json_line.h"

#include <jansson.h>

#include "lib/tap.h"

static char text[4096];
static struct json_line line;

static json_t *parse(void)
{
	size_t len = json_line_end(&line);

	CHECK(len <= line.size && text[len - 1] == '\n');
	return json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
}

static void values_come_back(void)
{
	static const char odd[] = "a\"b\\c\n\x01\x7f\xff";
	json_t *json;

	json_line_begin(&line, text, sizeof(text));
	json_line_text(&line, "plain", "x.example");
	json_line_text(&line, "nothing", NULL);
	json_line_bytes(&line, "odd", odd, sizeof(odd));
	json_line_number(&line, "count", UINT64_C(9007199254740993));
	json_line_null(&line, "none");
	json = parse();
	REQUIRE(json);
	CHECK(!strcmp(json_string_value(json_object_get(json, "plain")),
		      "x.example"));
	CHECK(json_integer_value(json_object_get(json, "count")) ==
	      9007199254740993);
	CHECK(json_is_null(json_object_get(json, "none")));
	CHECK(!json_object_get(json, "nothing"));
	json_decref(json);
	CHECK(strstr(text,
		     "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\\u00ff\\ufffd\""));
}

static void an_empty_line_is_an_object(void)
{
	json_t *json;

	json_line_begin(&line, text, 4);
	json_line_text(&line, "a", "b");
	json = parse();
	CHECK(json && json_object_size(json) == 0);
	json_decref(json);
}

static void what_does_not_fit_is_left_out_whole(void)
{
	for (size_t size = 4; size < 80; size++) {
		json_t *json;

		json_line_begin(&line, text, size);
		json_line_text(&line, "first", "value with \"marks\"");
		json_line_number(&line, "second", 12345);
		json_line_null(&line, "third");
		json_line_bytes(&line, "fourth", "\x01\x02", 2);
		json = parse();
		CHECK(json && json_is_object(json));
		json_decref(json);
	}
}

int main(void)
{
	RUN(values_come_back);
	RUN(an_empty_line_is_an_object);
	RUN(what_does_not_fit_is_left_out_whole);
	return DONE();
}
