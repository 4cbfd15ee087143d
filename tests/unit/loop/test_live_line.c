/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_live_line.c - unit tests of loop/live_line.h
 */
#include "loop/live_line.h"

#include "lib/tap.h"

static char line[LIVE_LINE_MAX];

static struct live_facts facts = { .iteration = 3,
				   .max_iterations = 30,
				   .seconds = 130,
				   .tokens = 12345,
				   .cost_micros = 120000,
				   .denied = 2,
				   .task = "A-1: the first",
				   .action = "Bash npm test" };

static const char *make(unsigned columns)
{
	live_line_make(&facts, columns, line);
	return line;
}

static void all_of_it_is_shown_where_there_is_room(void)
{
	CHECK(!strcmp(make(120), "3/30  2m10s  12.3k tokens  0.12 USD  2 "
				 "blocked  A-1: the first  Bash npm test"));
}

static void what_matters_least_is_left_out_first(void)
{
	CHECK(!strcmp(make(65), "3/30  2m10s  12.3k tokens  0.12 USD  2 "
				"blocked  Bash npm test"));
	CHECK(!strcmp(make(40), "3/30  2m10s  2 blocked  Bash npm test"));
	CHECK(!strcmp(make(26), "3/30  2m10s  Bash npm ..."));
	CHECK(!strcmp(make(5), "3/30"));
}

static void no_width_is_overrun(void)
{
	for (unsigned columns = 0; columns < 200; columns++) {
		size_t room = columns > 5 ? columns - 1 : 4;

		CHECK(live_line_width(make(columns)) <= room);
	}
}

static void wide_letters_take_two_columns(void)
{
	char broken[] = "ab\xe6\x97";

	CHECK(live_line_width("\xe6\x97\xa5\xe6\x9c\xac") == 4);
	CHECK(live_line_width("\xc3\xa9") == 1);
	CHECK(live_line_width(broken) == 3);
	facts.action = "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac"
		       "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac";
	for (unsigned columns = 5; columns < 60; columns++)
		CHECK(live_line_width(make(columns)) < columns);
	/* no character is torn */
	CHECK(!strcmp(make(27), "3/30  2m10s  "
				"\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c"
				"\xac\xe6\x97\xa5..."));
	facts.action = broken;
	CHECK(live_line_width(make(80)) < 80);
}

static void nothing_known_is_a_line_too(void)
{
	facts = (struct live_facts){ .task = "", .action = "" };
	CHECK(!strcmp(make(80), "0/0  0s  0 tokens  0.00 USD  0 blocked"));
}

int main(void)
{
	RUN(all_of_it_is_shown_where_there_is_room);
	RUN(what_matters_least_is_left_out_first);
	RUN(no_width_is_overrun);
	RUN(wide_letters_take_two_columns);
	RUN(nothing_known_is_a_line_too);
	return DONE();
}
