/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_raw_disk.c - where the bytes of a file lie on its disk
 */
#include "guest/raw_disk.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/own.h"
#include "lib/tap.h"

/* A hole, two pieces in a row that lie apart, a hole, one more. */
static const struct fiemap_extent extents[] = {
	{ .fe_logical = 4096, .fe_length = 8192, .fe_physical = 1 << 20 },
	{ .fe_logical = 12288, .fe_length = 4096, .fe_physical = 4096 },
	{ .fe_logical = 65536, .fe_length = 4096, .fe_physical = 8192 },
};

struct place {
	bool there;
	uint64_t offset;
	size_t len;
};

static struct place place(uint64_t at, size_t len)
{
	struct place place = { .len = len };

	place.there = raw_disk_place(extents, ARRAY_SIZE(extents), at,
				     &place.offset, &place.len);
	return place;
}

static void a_byte_lies_where_its_extent_says(void)
{
	struct place first = place(4096, 100), second = place(12288, 100);
	struct place last = place(69631, 1);

	CHECK(first.there && first.offset == 1 << 20 && first.len == 100);
	CHECK(second.there && second.offset == 4096 && second.len == 100);
	CHECK(last.there && last.offset == 8192 + 4095 && last.len == 1);
}

static void no_piece_goes_on_into_the_next(void)
{
	struct place one = place(4096 + 8000, 100000);
	struct place two = place(12288, 100000);

	CHECK(one.there && one.offset == (1 << 20) + 8000 && one.len == 192);
	CHECK(two.there && two.len == 4096);
}

static void holes_end_where_something_begins(void)
{
	struct place first = place(0, 100000), second = place(20000, 100000);
	struct place end = place(69632, 512);

	CHECK(!first.there && first.len == 4096);
	CHECK(!second.there && second.len == 65536 - 20000);
	CHECK(!end.there && end.len == 512);
}

/* No disk of a guest is open here: files are just read. */
static void without_a_disk_files_are_read(void)
{
	char name[] = "/tmp/raw-disk-XXXXXX", bytes[8] = "";
	int fd = mkstemp(name);

	REQUIRE(fd >= 0);
	CHECK(write(fd, "content", 7) == 7);
	CHECK(raw_disk_read(NULL, fd, 0, bytes, 3) == 3);
	CHECK(raw_disk_read(NULL, fd, 3, bytes + 3, 5) == 4);
	CHECK(strcmp(bytes, "content") == 0);
	close(fd);
	unlink(name);
}

int main(void)
{
	RUN(a_byte_lies_where_its_extent_says);
	RUN(no_piece_goes_on_into_the_next);
	RUN(holes_end_where_something_begins);
	RUN(without_a_disk_files_are_read);
	return DONE();
}
