/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree_walk.c - what of a tree goes into an archive
 */
#include "tree/tree_walk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "lib/tap.h"
#include "tar/tar_header.h"
#include "tar/tar.h"

#define ARCHIVE_MAX (1u << 20)

static char top[] = "/tmp/tree-walk-XXXXXX";
static struct error err;
static int skipped_count;

static int put(void *ctx, const void *bytes, size_t len, struct error *error)
{
	return buffer_append(ctx, bytes, len);
}

static void on_skipped(void *ctx, const char *path, const char *why)
{
	skipped_count++;
}

static enum tree_walk_choice choose(void *ctx, const char *path)
{
	if (!strcmp(path, "empty"))
		return TREE_WALK_EMPTY;
	return !strcmp(path, "gone") || !strcmp(path, "kept/gone")
		       ? TREE_WALK_LEAVE
		       : TREE_WALK_TAKE;
}

static void walk(struct buffer *archive, unsigned flags, bool chosen)
{
	struct tree_walk_setup setup = { .put = put,
					 .skipped = on_skipped,
					 .choose = chosen ? choose : NULL,
					 .ctx = archive,
					 .flags = flags };

	skipped_count = 0;
	CHECK(tree_walk(AT_FDCWD, top, "", &setup, &err) == 0);
}

/* The type of the entry with that name; 0: there is none. */
static char type_of(const struct buffer *archive, const char *name)
{
	for (size_t at = 0; at + TAR_BLOCK <= archive->len; at += TAR_BLOCK) {
		const struct tar_header *header =
			(const void *)(archive->data + at);

		if (!memcmp(header->magic, "ustar", 5) &&
		    !strncmp(header->name, name, sizeof(header->name)))
			return header->type;
	}
	return '\0';
}

static void file(const char *path)
{
	CHECK(fileio_replace(AT_FDCWD, path, "x", 1, 0644, 0, &err) == 0);
}

static void folders_are_emptied_or_left_out_as_is_chosen(void)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	AUTO_BUFFER struct buffer whole = BUFFER_INIT(ARCHIVE_MAX);

	walk(&archive, 0, true);
	CHECK(type_of(&archive, "empty") == '5');
	CHECK(!type_of(&archive, "empty/file"));
	CHECK(!type_of(&archive, "gone") && !type_of(&archive, "gone/file"));
	CHECK(type_of(&archive, "kept/file") == '0');
	CHECK(!type_of(&archive, "kept/gone"));
	walk(&whole, 0, false);
	CHECK(type_of(&whole, "gone/file") == '0');
	CHECK(type_of(&whole, "kept/gone") == '0');
	CHECK(type_of(&whole, "empty/file") == '0');
}

static void a_disk_has_fifos_and_every_kind_of_attribute(void)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	AUTO_BUFFER struct buffer disk = BUFFER_INIT(ARCHIVE_MAX);
	static const char name[] = "trusted.bawn";
	bool has = setxattr("kept/file", name, "1", 1, 0) == 0;

	walk(&archive, 0, false);
	CHECK(!type_of(&archive, "kept/pipe") && skipped_count == 1);
	CHECK(!memmem(archive.data, archive.len, name, strlen(name)));
	walk(&disk, TREE_WALK_DISK, false);
	CHECK(type_of(&disk, "kept/pipe") == '6' && skipped_count == 0);
	/* only root may set one, and not on every file system */
	CHECK(!has || memmem(disk.data, disk.len, name, strlen(name)));
}

static void names_of_one_file_and_its_users_attributes_are_told(void)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	char first, second;

	file("empty/one");
	CHECK(link("empty/one", "empty/two") == 0);
	(void)setxattr("empty/one", "trusted.bawn", "no", 2, 0);
	if (setxattr("empty/one", "user.a", "yes", 3, 0) == 0) {
		CHECK(setxattr("empty/one", "user.a=b", "odd", 3, 0) == 0);
		walk(&archive, TREE_WALK_CHANGES, false);
		CHECK(memmem(archive.data, archive.len, "user.a=yes", 10));
		CHECK(memmem(archive.data, archive.len, "user.a%3Db=odd", 14));
		buffer_consume(&archive, archive.len);
		walk(&archive, TREE_WALK_DISK, false);
		CHECK(!memmem(archive.data, archive.len, "odd", 3));
		buffer_consume(&archive, archive.len);
	}
	walk(&archive, TREE_WALK_CHANGES, false);
	CHECK(!memmem(archive.data, archive.len, "trusted", 7));
	first = type_of(&archive, "empty/one");
	second = type_of(&archive, "empty/two");
	CHECK((first == '0' && second == '1') ||
	      (first == '1' && second == '0'));
	CHECK(unlink("empty/one") == 0 && unlink("empty/two") == 0);
}

static void make_deep(unsigned levels)
{
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < levels; i++) {
		int next;

		CHECK(mkdirat(at, "deep", 0755) == 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
}

static void what_lies_too_deep_keeps_no_other_change_out(void)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(16 * ARCHIVE_MAX);
	struct tree_walk_setup setup = { .put = put,
					 .ctx = &archive,
					 .flags = 0 };
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	make_deep(600);
	CHECK(tree_walk(AT_FDCWD, top, "", &setup, &err) < 0);
	buffer_consume(&archive, archive.len);
	walk(&archive, TREE_WALK_CHANGES, false);
	/* and a FIFO */
	CHECK(skipped_count == 2 && type_of(&archive, "deep/deep") == '5' &&
	      type_of(&archive, "kept/file") == '0');
	CHECK(fileio_remove_tree(at, "deep", &err) == 0);
	close(at);
}

/* What a file's own bytes are, says who reads them. */
static ssize_t read_letters(void *ctx, int fd, uint64_t at, void *bytes,
			    size_t len)
{
	static const char letters[] = "ABCDEFGH";

	CHECK(at < 8 && len == 8 - at);
	memcpy(bytes, letters + at, 1);
	return 1;
}

static void another_reader_is_asked_for_each_byte_in_turn(void)
{
	AUTO_BUFFER struct buffer archive = BUFFER_INIT(ARCHIVE_MAX);
	struct tree_walk_setup setup = { .put = put,
					 .read = read_letters,
					 .ctx = &archive };

	CHECK(fileio_replace(AT_FDCWD, "8", "12345678", 8, 0644, 0, &err) == 0);
	CHECK(tree_walk(AT_FDCWD, "8", "8", &setup, &err) == 0);
	CHECK(memmem(archive.data, archive.len, "ABCDEFGH", 8));
	CHECK(!memmem(archive.data, archive.len, "12345678", 8));
	CHECK(unlink("8") == 0);
}

int main(void)
{
	CHECK(mkdtemp(top) != NULL && chdir(top) == 0);
	CHECK(!mkdir("empty", 0755) && !mkdir("gone", 0755) &&
	      !mkdir("kept", 0755));
	file("empty/file");
	file("gone/file");
	file("kept/file");
	file("kept/gone");
	CHECK(mkfifo("kept/pipe", 0600) == 0);
	RUN(folders_are_emptied_or_left_out_as_is_chosen);
	RUN(a_disk_has_fifos_and_every_kind_of_attribute);
	RUN(names_of_one_file_and_its_users_attributes_are_told);
	RUN(what_lies_too_deep_keeps_no_other_change_out);
	RUN(another_reader_is_asked_for_each_byte_in_turn);
	CHECK(chdir("/") == 0 && fileio_remove_tree(AT_FDCWD, top, &err) == 0);
	return DONE();
}
