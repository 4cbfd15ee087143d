/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_duration.c - unit tests of loop/duration.h
 */
#include "loop/duration.h"

#include "lib/tap.h"

static void durations_are_read(void)
{
	static const struct {
		const char *text;
		uint64_t seconds;
	} good[] = { { "90", 90 },      { "0", 0 },       { "5m", 300 },
		     { "1h30m", 5400 }, { "2d", 172800 }, { "1m5s", 65 },
		     { "1h5", 3605 } };
	static const char *const bad[] = { "",     "m",    "1x",  "-1",  "5m5m",
					   "1s1h", "400d", "1 m", "1.5h" };
	uint64_t seconds;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(duration_parse(good[i].text, &seconds) == 0 &&
		      seconds == good[i].seconds);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(duration_parse(bad[i], &seconds) < 0);
}

static void durations_are_shown(void)
{
	char text[32];

	duration_text(12.9, text, sizeof(text));
	CHECK(!strcmp(text, "12s"));
	duration_text(185, text, sizeof(text));
	CHECK(!strcmp(text, "3m05s"));
	duration_text(3720, text, sizeof(text));
	CHECK(!strcmp(text, "1h02m"));
	duration_text(-1, text, sizeof(text));
	CHECK(!strcmp(text, "0s"));
}

int main(void)
{
	RUN(durations_are_read);
	RUN(durations_are_shown);
	return DONE();
}
