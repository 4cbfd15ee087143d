/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ext4_layers.c - several layers in one image: what goes, what stays
 */
#include "image/ext4_writer.h"

#include <sys/stat.h>

#include "base/error.h"
#include "image/ext4_writer_internal.h"
#include "lib/tap.h"

#define MIB (1ull << 20)

static struct error err;
static struct ext4_stats stats;

static struct ext4_writer *open_image(void)
{
	struct ext4_writer *writer =
		ext4_writer_new(-1, 32 * MIB, "test", &err);

	if (!writer)
		abort();
	ext4_writer_begin_layer(writer);
	return writer;
}

static int add(struct ext4_writer *writer, const char *path, uint32_t mode,
	       const char *target)
{
	struct ext4_entry entry = { .path = path,
				    .attr = { .mode = mode },
				    .target = target };

	return ext4_writer_add(writer, &entry, &err);
}

static int file(struct ext4_writer *writer, const char *path)
{
	return add(writer, path, S_IFREG | 0644, NULL);
}

static bool has(struct ext4_writer *writer, const char *path)
{
	return ext4_path_find(writer, path) != NULL;
}

static void finish(struct ext4_writer *writer)
{
	CHECK(ext4_writer_finish(writer, &stats, &err) == 0);
	ext4_writer_free(writer);
}

static void a_whiteout_takes_what_is_below_and_nothing_else(void)
{
	struct ext4_writer *writer = open_image();

	CHECK(file(writer, "a/b/c") == 0 && file(writer, "a/d") == 0);
	CHECK(file(writer, "keep") == 0);
	ext4_writer_begin_layer(writer);
	/* also when it comes after what the same layer has put there */
	CHECK(file(writer, "a/b/new") == 0);
	CHECK(ext4_writer_whiteout(writer, "a", &err) == 0);
	CHECK(has(writer, "a/b/new"));
	CHECK(!has(writer, "a/b/c") && !has(writer, "a/d"));
	CHECK(ext4_writer_whiteout(writer, "keep", &err) == 0);
	CHECK(!has(writer, "keep"));
	CHECK(ext4_writer_whiteout(writer, "never/was", &err) == 0);
	CHECK(ext4_writer_whiteout(writer, "lost+found", &err) == 0);
	CHECK(has(writer, "lost+found"));
	finish(writer);
	CHECK(stats.files == 3);
}

static void an_opaque_folder_hides_all_that_is_below(void)
{
	struct ext4_writer *writer = open_image();

	CHECK(file(writer, "dir/x") == 0 && file(writer, "dir/sub/y") == 0);
	CHECK(file(writer, "top") == 0);
	ext4_writer_begin_layer(writer);
	CHECK(file(writer, "dir/sub/z") == 0);
	CHECK(ext4_writer_opaque(writer, "dir/.wh..wh..opq", &err) == 0);
	CHECK(has(writer, "dir/sub/z") && has(writer, "top"));
	CHECK(!has(writer, "dir/x") && !has(writer, "dir/sub/y"));
	CHECK(ext4_writer_opaque(writer, "none/.wh..wh..opq", &err) == 0);
	ext4_writer_begin_layer(writer);
	CHECK(ext4_writer_opaque(writer, ".wh..wh..opq", &err) == 0);
	CHECK(!has(writer, "dir") && !has(writer, "top"));
	CHECK(has(writer, "lost+found"));
	finish(writer);
}

static void names_behind_links_go_where_these_lead(void)
{
	struct ext4_writer *writer = open_image();

	CHECK(file(writer, "usr/lib/a") == 0);
	CHECK(add(writer, "lib", S_IFLNK | 0777, "usr/lib") == 0);
	CHECK(add(writer, "usr/up", S_IFLNK | 0777, "../usr/../lib") == 0);
	CHECK(add(writer, "out", S_IFLNK | 0777, "/../../../etc") == 0);
	CHECK(add(writer, "loop", S_IFLNK | 0777, "loop") == 0);
	CHECK(file(writer, "plain") == 0);
	ext4_writer_begin_layer(writer);
	CHECK(file(writer, "lib/b") == 0 && has(writer, "usr/lib/b"));
	CHECK(file(writer, "usr/up/c") == 0 && has(writer, "usr/lib/c"));
	CHECK(file(writer, "out/passwd") == 0 && has(writer, "etc/passwd"));
	CHECK(ext4_writer_link(writer, "hard", "lib/a", &err) == 0);
	CHECK(ext4_writer_whiteout(writer, "lib/a", &err) == 0);
	CHECK(!has(writer, "usr/lib/a") && has(writer, "hard"));
	CHECK(file(writer, "loop/x") < 0);
	CHECK(strstr(err.text, "too many") != NULL);
	CHECK(file(writer, "plain/x") < 0);
	/* the last part is never followed: the link itself is replaced */
	CHECK(add(writer, "lib", S_IFDIR | 0755, NULL) == 0);
	CHECK(!has(writer, "lib/b") && has(writer, "usr/lib/b"));
	finish(writer);
}

static void a_hard_link_keeps_what_a_later_layer_removes(void)
{
	struct ext4_writer *writer = open_image();
	struct ext2_inode_large inode;

	CHECK(file(writer, "one") == 0);
	ext4_writer_begin_layer(writer);
	CHECK(ext4_writer_link(writer, "two", "one", &err) == 0);
	ext4_writer_begin_layer(writer);
	CHECK(ext4_writer_whiteout(writer, "one", &err) == 0);
	CHECK(has(writer, "two"));
	CHECK(ext4_inode_read(writer, ext4_path_find(writer, "two")->ino,
			      &inode, &err) == 0);
	CHECK(inode.i_links_count == 1);
	CHECK(file(writer, "one") == 0);
	finish(writer);
	CHECK(stats.files == 2);
}

static void a_folder_takes_the_attributes_of_the_last_layer(void)
{
	struct ext4_writer *writer = open_image();
	struct ext4_xattr big = { "user.big", NULL, 900 };
	struct ext4_xattr small = { "user.a", "1", 1 };
	struct ext4_entry entry = { .path = "dir",
				    .attr = { .mode = S_IFDIR | 0755 },
				    .xattrs = &big,
				    .xattr_count = 1 };
	char value[900] = { 0 };
	struct ext2_xattr_handle *handle;
	size_t count = 9;

	big.value = value;
	CHECK(ext4_writer_add(writer, &entry, &err) == 0);
	ext4_writer_begin_layer(writer);
	entry.xattrs = &small;
	entry.attr.mode = S_IFDIR | 0700;
	CHECK(ext4_writer_add(writer, &entry, &err) == 0);
	REQUIRE(ext2fs_xattrs_open(writer->fs,
				   ext4_path_find(writer, "dir")->ino,
				   &handle) == 0);
	CHECK(ext2fs_xattrs_read(handle) == 0);
	CHECK(ext2fs_xattrs_count(handle, &count) == 0 && count == 1);
	ext2fs_xattrs_close(&handle);
	finish(writer);
}

static void deep_trees_go_without_recursion(void)
{
	struct ext4_writer *writer = open_image();
	char path[2000];
	size_t len = 0;

	while (len + 2 < sizeof(path)) {
		path[len++] = 'd';
		path[len++] = '/';
	}
	path[len - 1] = '\0';
	CHECK(file(writer, path) == 0);
	ext4_writer_begin_layer(writer);
	path[len - 3] = 'e';
	CHECK(file(writer, path) == 0);
	CHECK(ext4_writer_whiteout(writer, "d", &err) == 0);
	CHECK(has(writer, path));
	ext4_writer_begin_layer(writer);
	CHECK(ext4_writer_whiteout(writer, "d", &err) == 0);
	CHECK(!has(writer, "d"));
	finish(writer);
	CHECK(stats.files == 0);
}

int main(void)
{
	RUN(a_whiteout_takes_what_is_below_and_nothing_else);
	RUN(an_opaque_folder_hides_all_that_is_below);
	RUN(names_behind_links_go_where_these_lead);
	RUN(a_hard_link_keeps_what_a_later_layer_removes);
	RUN(a_folder_takes_the_attributes_of_the_last_layer);
	RUN(deep_trees_go_without_recursion);
	return DONE();
}
