/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ext4_writer.c - images in memory: names, links, replacement, limits
 *
 * What is on the disk is checked by e2fsck and debugfs in the component test.
 */
#include "image/ext4_writer.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "lib/tap.h"

#define MIB (1ull << 20)

static struct error err;
static struct ext4_stats stats;

static struct ext4_writer *open_image(void)
{
	return ext4_writer_new(-1, 32 * MIB, "test", &err);
}

static int add(struct ext4_writer *writer, const char *path, uint32_t mode)
{
	struct ext4_entry entry = { .path = path, .attr = { .mode = mode } };

	if (S_ISLNK(mode))
		entry.target = "somewhere";
	return ext4_writer_add(writer, &entry, &err);
}

static int add_file(struct ext4_writer *writer, const char *path, size_t size)
{
	static char zeroes[1 << 16];
	struct ext4_entry entry = { .path = path,
				    .attr = { .mode = S_IFREG | 0644 } };

	if (ext4_writer_file_begin(writer, &entry, size, EXT4_DENSE, &err) < 0)
		return -1;
	for (size_t at = 0; at < size; at += sizeof(zeroes)) {
		size_t part =
			size - at < sizeof(zeroes) ? size - at : sizeof(zeroes);

		if (ext4_writer_file_data(writer, at, zeroes, part, &err) < 0)
			return -1;
	}
	return ext4_writer_file_end(writer, &err);
}

static void every_kind_is_taken(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(add(writer, "", S_IFDIR | 0755) == 0);
	CHECK(add(writer, "dir", S_IFDIR | 0700) == 0);
	CHECK(add(writer, "dir/link", S_IFLNK | 0777) == 0);
	CHECK(add(writer, "dir/fifo", S_IFIFO | 0644) == 0);
	CHECK(add(writer, "dir/char", S_IFCHR | 0644) == 0);
	CHECK(add(writer, "dir/block", S_IFBLK | 0644) == 0);
	CHECK(add(writer, "dir/socket", S_IFSOCK | 0644) == 0);
	CHECK(add(writer, "dir/empty", S_IFREG | 0644) == 0);
	CHECK(add_file(writer, "dir/file", 100000) == 0);
	CHECK(ext4_writer_link(writer, "hard", "dir/file", &err) == 0);
	CHECK(add(writer, "dir/odd", 0644) < 0);
	CHECK(ext4_writer_finish(writer, &stats, &err) == 0);
	CHECK(stats.files == 8);
	CHECK(stats.bytes == 100000);
	ext4_writer_free(writer);
}

static void nothing_goes_through_a_link(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(add(writer, "link", S_IFLNK | 0777) == 0);
	CHECK(add(writer, "link/x", S_IFREG | 0644) < 0);
	CHECK(strstr(err.text, "symbolic link") != NULL);
	CHECK(add_file(writer, "file", 10) == 0);
	CHECK(add(writer, "file/x", S_IFREG | 0644) < 0);
	CHECK(ext4_writer_link(writer, "hard", "link/x", &err) < 0);
	ext4_writer_free(writer);
}

static void later_entries_replace_earlier_ones(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(add_file(writer, "a", 500000) == 0);
	CHECK(add_file(writer, "a", 10) == 0);
	CHECK(add(writer, "a", S_IFLNK | 0777) == 0);
	CHECK(add(writer, "a", S_IFDIR | 0755) == 0);
	CHECK(add_file(writer, "a/b/c", 10) == 0);
	CHECK(add(writer, "a", S_IFDIR | 0700) == 0);
	CHECK(add_file(writer, "a", 20) == 0);
	CHECK(ext4_writer_finish(writer, &stats, &err) == 0);
	CHECK(stats.files == 1);
	ext4_writer_free(writer);
}

static void replaced_room_is_used_again(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	for (int i = 0; i < 20; i++)
		CHECK(add_file(writer, "big", 10 * MIB) == 0);
	ext4_writer_free(writer);
}

static void hard_links_need_a_target(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(ext4_writer_link(writer, "x", "missing", &err) < 0);
	CHECK(add(writer, "dir", S_IFDIR | 0755) == 0);
	CHECK(ext4_writer_link(writer, "x", "dir", &err) < 0);
	CHECK(ext4_writer_link(writer, "x", "", &err) < 0);
	CHECK(add_file(writer, "dir/file", 10) == 0);
	CHECK(ext4_writer_link(writer, "dir/file", "dir/file", &err) == 0);
	/* the new name takes the place of the folder around its target */
	CHECK(ext4_writer_link(writer, "dir", "dir/file", &err) == 0);
	CHECK(ext4_writer_finish(writer, &stats, &err) == 0);
	CHECK(stats.files == 1);
	ext4_writer_free(writer);
}

static void a_full_image_says_so(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(add_file(writer, "huge", 64 * MIB) < 0);
	CHECK(err.code == ENOSPC);
	ext4_writer_free(writer);
	writer = open_image();
	REQUIRE(writer);
	CHECK(add_file(writer, "a", 15 * MIB) == 0);
	CHECK(add_file(writer, "b", 15 * MIB) < 0);
	CHECK(err.code == ENOSPC);
	ext4_writer_free(writer);
}

static void sparse_files_are_bounded(void)
{
	struct ext4_writer *writer = open_image();
	struct ext4_entry entry = { .path = "sparse",
				    .attr = { .mode = S_IFREG | 0644 } };

	REQUIRE(writer);
	CHECK(ext4_writer_file_begin(writer, &entry, 1ull << 45, EXT4_SPARSE,
				     &err) < 0);
	CHECK(ext4_writer_file_begin(writer, &entry, 20 * MIB, EXT4_SPARSE,
				     &err) == 0);
	CHECK(ext4_writer_file_data(writer, 10 * MIB, "x", 1, &err) == 0);
	CHECK(ext4_writer_file_data(writer, 20 * MIB, "x", 1, &err) < 0);
	CHECK(ext4_writer_file_end(writer, &err) == 0);
	CHECK(ext4_writer_finish(writer, &stats, &err) == 0);
	CHECK(stats.bytes == 1);
	ext4_writer_free(writer);
}

static void lost_found_stays_a_folder(void)
{
	struct ext4_writer *writer = open_image();

	REQUIRE(writer);
	CHECK(add(writer, "lost+found", S_IFDIR | 0700) == 0);
	CHECK(add(writer, "lost+found", S_IFREG | 0644) < 0);
	CHECK(add(writer, "", S_IFREG | 0644) < 0);
	ext4_writer_free(writer);
}

static void inodes_run_out_with_an_error(void)
{
	struct ext4_writer *writer = open_image();
	char path[32];
	int i;

	REQUIRE(writer);
	for (i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "file%d", i);
		if (add(writer, path, S_IFREG | 0644) < 0)
			break;
	}
	CHECK(i < 5000 && err.code == ENOSPC);
	ext4_writer_free(writer);
}

static void sizes_out_of_range_are_refused(void)
{
	CHECK(!ext4_writer_new(-1, 0, "x", &err));
	CHECK(!ext4_writer_new(-1, 1 * MIB, "x", &err));
	CHECK(!ext4_writer_new(-1, 1ull << 50, "x", &err));
	CHECK(!ext4_writer_new(-1, 32 * MIB, "a label that is too long", &err));
}

int main(void)
{
	RUN(every_kind_is_taken);
	RUN(nothing_goes_through_a_link);
	RUN(later_entries_replace_earlier_ones);
	RUN(replaced_room_is_used_again);
	RUN(hard_links_need_a_target);
	RUN(a_full_image_says_so);
	RUN(sparse_files_are_bounded);
	RUN(lost_found_stays_a_folder);
	RUN(inodes_run_out_with_an_error);
	RUN(sizes_out_of_range_are_refused);
	return DONE();
}
