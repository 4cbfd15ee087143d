/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_checkpoint_keep.c - which checkpoints make room
 */
#include "cli/checkpoint_keep.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/checkpoint.h"
#include "lib/tap.h"

#define MB (1ull << 20)

static struct checkpoint_keep given(const char *text)
{
	struct checkpoint_keep keep = { .count = 7, .bytes = 7 };
	struct error err = { 0 };

	if (checkpoint_keep_parse(text, &keep, &err) < 0)
		return (struct checkpoint_keep){ .count = err.text[0] ? 0 : 1 };
	return keep;
}

static void a_number_a_size_or_both(void)
{
	CHECK(given("3").count == 3 && given("3").bytes == 7);
	CHECK(given("8G").count == 7 && given("8G").bytes == 8ull << 30);
	CHECK(given("3,8M").count == 3 && given("3,8M").bytes == 8 * MB);
	CHECK(given("8M,3").count == 3 && given("8M,3").bytes == 8 * MB);
}

static void others_are_refused_and_change_nothing(void)
{
	static const char *const bad[] = { "",
					   "0",
					   "-1",
					   "1001",
					   "x",
					   "3,",
					   ",3",
					   "3,x",
					   "0G",
					   "3,4,5",
					   "9999999999999999999999G" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(given(bad[i]).count == 0 && given(bad[i]).bytes == 0);
}

static void it_is_kept_and_has_a_default(void)
{
	char path[] = "/tmp/keep-XXXXXX";
	struct checkpoint_keep keep = { .count = 3, .bytes = 5 * MB };
	AUTO_CLOSE int folder = -1;
	struct error err;

	CHECK(mkdtemp(path) != NULL);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(checkpoint_keep_save(folder, &keep, &err) == 0);
	keep = (struct checkpoint_keep){ 0 };
	checkpoint_keep_load(folder, &keep);
	CHECK(keep.count == 3 && keep.bytes == 5 * MB);
	CHECK(fileio_replace(folder, "keep", "rubbish", 7, 0600, 0, &err) == 0);
	checkpoint_keep_load(folder, &keep);
	CHECK(keep.count == CHECKPOINT_KEEP_COUNT &&
	      keep.bytes == CHECKPOINT_KEEP_BYTES);
	unlinkat(folder, "keep", 0);
	rmdir(path);
}

static const struct checkpoint list[] = {
	{ .label = "named", .bytes = 10 * MB },
	{ .label = "old", .bytes = 4 * MB, .automatic = true },
	{ .label = "mid", .bytes = 4 * MB, .automatic = true },
	{ .label = "new", .bytes = 4 * MB, .automatic = true },
};

/* One digit a checkpoint: 1 is dropped. */
static unsigned chosen(unsigned count, uint64_t bytes)
{
	const struct checkpoint_keep keep = { .count = count, .bytes = bytes };
	bool drop[ARRAY_SIZE(list)];
	unsigned digits = 0;

	checkpoint_keep_choose(list, ARRAY_SIZE(list), &keep, drop);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		digits = digits * 10 + drop[i];
	return digits;
}

static void the_oldest_unnamed_go_first(void)
{
	CHECK(chosen(3, 100 * MB) == 0);
	CHECK(chosen(2, 100 * MB) == 100);
	CHECK(chosen(1, 100 * MB) == 110);
}

static void size_counts_as_well_as_number(void)
{
	CHECK(chosen(10, 22 * MB) == 0);
	CHECK(chosen(10, 22 * MB - 1) == 100);
	CHECK(chosen(10, 17 * MB) == 110);
}

static void named_ones_and_the_newest_stay(void)
{
	CHECK(chosen(1, 1) == 110);
	checkpoint_keep_choose(list, 0, &(struct checkpoint_keep){ 0 }, NULL);
}

int main(void)
{
	RUN(a_number_a_size_or_both);
	RUN(others_are_refused_and_change_nothing);
	RUN(it_is_kept_and_has_a_default);
	RUN(the_oldest_unnamed_go_first);
	RUN(size_counts_as_well_as_number);
	RUN(named_ones_and_the_newest_stay);
	return DONE();
}
