/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_progress_line.c - lines of progress in wide and narrow terminals
 */
#include "cli/progress_line.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/progress.h"
#include "lib/tap.h"

#define IMAGE "pulling registry.example.org/team/name:latest"

/* Shows the line that is not as it should be. */
static void same(const char *line, const char *expected)
{
	CHECK(strcmp(line, expected) == 0);
	if (strcmp(line, expected) != 0)
		printf("# \"%s\"\n", line);
}

static const char *step(const char *text, uint64_t done, uint64_t total,
			unsigned width)
{
	static char line[PROGRESS_LINE_MAX];

	progress_line_step(text, done, total, 12000, width, line);
	return line;
}

static const char *part(uint64_t done, uint64_t total, unsigned width)
{
	struct progress_part one = { "0123456789ab", "fetching", done, total };
	static char line[PROGRESS_LINE_MAX];

	progress_line_part(&one, width, line);
	return line;
}

static void a_wide_terminal_has_it_all(void)
{
	same(step("loading", 1, 2, 79),
	     "loading  [############............]  50 %  12 s");
	same(step("loading", 0, 0, 79), "loading  12 s");
	same(part(1, 4, 79),
	     "  0123456789ab  fetching   [######..................] 4 B");
}

static void a_name_gives_way_to_its_bar(void)
{
	same(step(IMAGE, 1, 2, 79), IMAGE "  [#########.........]  50 %  12 s");
	same(step(IMAGE, 1, 2, 39), "pulling regis..  [####....]  50 %  12 s");
	same(step(IMAGE, 0, 0, 39), "pulling registry.example.org/te..  12 s");
}

/* Half of a layer is half of its bar, however long that is. */
static void a_narrow_bar_is_whole(void)
{
	same(part(7u << 20, 14u << 20, 39),
	     "  0123456789ab  [#######.......] 14 MB");
	same(part(14u << 20, 14u << 20, 39),
	     "  0123456789ab  [##############] 14 MB");
	same(part(1, 2, 28), "  0123456789ab 2 B");
}

static void no_line_is_wider_than_its_terminal(void)
{
	static const char *const texts[] = { "", "x", "loading ../Größe/ünï",
					     IMAGE IMAGE IMAGE };

	for (unsigned width = 1; width < 120; width++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			const char *line = step(texts[i], 1, 3, width);
			size_t columns = 0;

			for (const char *at = line; *at; at++)
				columns += (*at & 0xc0) != 0x80;
			CHECK(columns <= width);
		}
		CHECK(strlen(part(1, 3, width)) <= width);
	}
}

static void odd_numbers_are_drawn(void)
{
	CHECK(strstr(step("x", 5, 2, 79), "100 %"));
	CHECK(strstr(step("x", UINT64_MAX, UINT64_MAX, 79), "100 %"));
	same(part(0, 0, 79), "  0123456789ab  fetching   "
			     "[########################] 0 B");
}

int main(void)
{
	RUN(a_wide_terminal_has_it_all);
	RUN(a_name_gives_way_to_its_bar);
	RUN(a_narrow_bar_is_whole);
	RUN(no_line_is_wider_than_its_terminal);
	RUN(odd_numbers_are_drawn);
	return DONE();
}
