/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base_file.c - records of the host's files
 */
#include "changes/base_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

static struct error err;

static int collect(void *ctx, const struct base_record *record)
{
	base_list_add(ctx, record);
	return 0;
}

static void a_folder_is_written_down_without_following_links(void)
{
	char top[] = "/tmp/base-file-XXXXXX";
	AUTO_BASE_LIST struct base_list list = { NULL, 0 };
	AUTO_CLOSE int fd = memfd_create("base", MFD_CLOEXEC);
	AUTO_CLOSE int root = -1, folder = -1;
	struct base_record now;
	struct stat st;

	REQUIRE(mkdtemp(top));
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mkdirat(root, "d", 0755);
	folder = openat(root, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fileio_replace(root, "d/f", "hello", 5, 0640, 0, &err);
	CHECK(symlinkat("/etc", root, "l") == 0);
	CHECK(base_scan(root, fd, &err) == 0);
	CHECK(base_each(fd, collect, &list, &err) == 0);
	base_list_sort(&list);
	CHECK(list.count == 3);
	REQUIRE(base_list_find(&list, BASE_HOST, "d/f"));
	REQUIRE(fstatat(root, "d/f", &st, 0) == 0);
	base_record_of_host(&now, "d/f", folder, &st);
	CHECK(base_record_same(base_list_find(&list, BASE_HOST, "d/f"), &now));
	CHECK(!base_list_find(&list, BASE_APPLIED, "d/f"));
	CHECK(S_ISLNK(base_list_find(&list, BASE_HOST, "l")->mode));
	fileio_replace(root, "d/f", "other", 5, 0640, 0, &err);
	REQUIRE(fstatat(root, "d/f", &st, 0) == 0);
	base_record_of_host(&now, "d/f", folder, &st);
	CHECK(!base_record_same(base_list_find(&list, BASE_HOST, "d/f"), &now));
	fileio_remove_tree(AT_FDCWD, top, &err);
}

static void damaged_records_are_refused(void)
{
	static const char *const bad[] = {
		"",
		"b",
		"x 100644 1 1 1.1 p",
		"b 100644 1 1 1.1 ",
		"b 100644 1 1 1.1p",
		"b 100644 1 1 1.1000000000 p",
		"b 9 1 1 1.1 p",
		"b 100644 1 1 1.1, p",
		"b 100644 1 1 1.1,-1 p",
		"b 100644 1 1 1.1,g p",
		"b 100644 1 1 1.1,11111111111111111 p",
	};
	struct base_record record;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(base_record_parse(bad[i], &record) < 0);
	CHECK(base_record_parse("b 100644 1 2 -3.4 a b", &record) == 0);
	CHECK(record.mtime == -3 && record.mtime_ns == 4 &&
	      !strcmp(record.path, "a b"));
	CHECK(!record.has_attributes);
	CHECK(base_record_parse("b 100644 1 2 3.4,fe a", &record) == 0);
	CHECK(record.has_attributes && record.attributes == 0xfe);
}

static void a_record_of_an_earlier_version_knows_no_attributes(void)
{
	struct base_record old, none, some;

	CHECK(base_record_parse("b 100644 1 2 3.4 a", &old) == 0);
	CHECK(base_record_parse("b 100644 1 2 3.4,0 a", &none) == 0);
	CHECK(base_record_parse("b 100644 1 2 3.4,7 a", &some) == 0);
	CHECK(base_record_same(&old, &none) && base_record_same(&old, &some));
	CHECK(!base_record_same(&none, &some));
	/* those of a folder count, too */
	none.mode = some.mode = S_IFDIR | 0755;
	CHECK(!base_record_same(&none, &some));
}

static void a_file_that_was_cut_off_is_refused(void)
{
	AUTO_CLOSE int fd = memfd_create("base", MFD_CLOEXEC);
	AUTO_BASE_LIST struct base_list list = { NULL, 0 };

	CHECK(write(fd, "b 1 1 1 1.1 a\0b 1 1", 19) == 19);
	CHECK(base_each(fd, collect, &list, &err) < 0);
}

int main(void)
{
	RUN(a_folder_is_written_down_without_following_links);
	RUN(damaged_records_are_refused);
	RUN(a_record_of_an_earlier_version_knows_no_attributes);
	RUN(a_file_that_was_cut_off_is_refused);
	return DONE();
}
