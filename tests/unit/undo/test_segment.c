/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segment.c - which folders are marks
 */
#include "undo/segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "lib/tap.h"

static char top[] = "/tmp/test-segment-XXXXXX";
static int folder;
static struct error err;

static int make(const char *name, const char *label)
{
	int fd;

	mkdirat(folder, name, 0700);
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY);
	if (label)
		segment_write(fd, SEGMENT_LABEL, label, &err);
	return close(fd);
}

static void marks_are_listed_by_number(void)
{
	struct segments segments;

	make("000010", "ten 100\n");
	make("000002", "two 99\n");
	REQUIRE(segments_load(folder, &segments, &err) == 0);
	REQUIRE(segments.count == 2);
	CHECK(segments.list[0].number == 2 && segments.list[1].number == 10);
	CHECK(strcmp(segments.list[1].label, "ten") == 0);
	CHECK(segments.list[1].time == 100);
	segments_release(&segments);
}

static void what_is_half_made_or_forged_is_none(void)
{
	struct segments segments;

	make("000011", NULL);
	make("000012", "no time\n");
	make("000013", "a b 5\n");
	make("000014", "cut 5");
	make("000015", "\x1b[2J 5\n");
	make("old-000003", "old 5\n");
	make("3", "three 5\n");
	CHECK(symlinkat("000010", folder, "000016") == 0);
	REQUIRE(segments_load(folder, &segments, &err) == 0);
	CHECK(segments.count == 2);
	segments_release(&segments);
}

static void a_time_makes_a_label(void)
{
	const struct timespec time = { .tv_nsec = 45999999 };
	char label[JOURNAL_LABEL_MAX + 1];

	segment_time_label(SEGMENT_RUN, &time, label, sizeof(label));
	CHECK(strcmp(label, "run-19700101T000000.045Z") == 0);
	CHECK(journal_label_is_good(label));
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	folder = open(top, O_RDONLY | O_DIRECTORY);
	RUN(marks_are_listed_by_number);
	RUN(what_is_half_made_or_forged_is_none);
	RUN(a_time_makes_a_label);
	fileio_remove_tree(AT_FDCWD, top, &err);
	close(folder);
	return DONE();
}
