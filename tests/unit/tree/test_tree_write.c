/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree_write.c - nothing is written outside, nothing half
 */
#include "tree/tree_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

static char top[] = "/tmp/tree-write-XXXXXX";
static int root = -1, outside = -1;
static struct tree_writer *writer;
static struct error err;

static void setup(void)
{
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fileio_remove_tree(at, "root", &err);
	fileio_remove_tree(at, "outside", &err);
	if (root >= 0)
		close(root);
	if (outside >= 0)
		close(outside);
	mkdirat(at, "root", 0755);
	mkdirat(at, "outside", 0755);
	root = openat(at, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	outside = openat(at, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(at);
	writer = tree_writer_new(&(struct tree_writer_setup){
		.root = root, .uid = TREE_OWNER_SAME });
	err = (struct error){ 0 };
}

static void teardown(void)
{
	tree_writer_free(writer);
	writer = NULL;
}

static int count(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	int found = -2;

	while (readdir(dir))
		found++;
	closedir(dir);
	return found;
}

static int put(const char *path, mode_t mode, const char *target,
	       const char *content)
{
	struct tar_entry entry = { .path = path,
				   .mode = mode,
				   .target = target,
				   .hard_link = S_ISREG(mode) && target,
				   .mtime = 1000,
				   .mtime_ns = 5,
				   .size = strlen(content) };

	if (tree_writer_entry(writer, &entry, &err) < 0)
		return -1;
	if (*content &&
	    tree_writer_data(writer, content, strlen(content), &err) < 0)
		return -1;
	return tree_writer_end(writer, &err);
}

static bool holds(int at, const char *path, const char *content)
{
	char found[64] = "";
	int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, found, sizeof(found) - 1);

	if (fd >= 0)
		close(fd);
	return got >= 0 && !strcmp(found, content);
}

static void files_folders_and_links_keep_mode_and_time(void)
{
	struct stat st;

	setup();
	CHECK(put("d", S_IFDIR | 0555, NULL, "") == 0);
	CHECK(put("open", S_IFDIR | 0775, NULL, "") == 0);
	REQUIRE(fstatat(root, "open", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0775);
	CHECK(put("d/f", S_IFREG | 0640, NULL, "hello") == 0);
	CHECK(put("d/l", S_IFLNK | 0777, "/etc/passwd", "") == 0);
	CHECK(put("d/h", S_IFREG | 0640, "d/f", "") == 0);
	CHECK(tree_writer_finish(writer, &err) == 0);
	CHECK(holds(root, "d/f", "hello") && holds(root, "d/h", "hello"));
	REQUIRE(fstatat(root, "d/f", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0640 && st.st_mtim.tv_sec == 1000 &&
	      st.st_mtim.tv_nsec == 5 && st.st_nlink == 2);
	REQUIRE(fstatat(root, "d", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0555 && st.st_mtim.tv_sec == 1000);
	REQUIRE(fstatat(root, "d/l", &st, AT_SYMLINK_NOFOLLOW) == 0);
	CHECK(S_ISLNK(st.st_mode) && st.st_mtim.tv_sec == 1000);
	teardown();
}

static void a_planted_link_is_never_written_through(void)
{
	setup();
	CHECK(symlinkat("../outside", root, "to") == 0);
	CHECK(put("to/f", S_IFREG | 0644, NULL, "x") < 0);
	CHECK(strstr(err.text, "symbolic link"));
	CHECK(put("to/sub", S_IFDIR | 0755, NULL, "") < 0);
	CHECK(put("to", S_IFDIR | 0755, NULL, "") < 0);
	CHECK(put("to/l", S_IFLNK | 0777, "x", "") < 0);
	CHECK(count(outside) == 0);
	teardown();
}

static void a_link_of_the_archive_is_not_followed_by_it(void)
{
	setup();
	CHECK(put("to", S_IFLNK | 0777, "../outside", "") == 0);
	CHECK(put("to/f", S_IFREG | 0644, NULL, "x") < 0);
	/* a file in the place of the link replaces the link */
	CHECK(put("to", S_IFREG | 0644, NULL, "mine") == 0);
	CHECK(holds(root, "to", "mine") && count(outside) == 0);
	teardown();
}

static void a_link_to_a_file_is_replaced_not_written_through(void)
{
	setup();
	fileio_replace(outside, "victim", "old", 3, 0644, 0, &err);
	CHECK(symlinkat("../outside/victim", root, "f") == 0);
	CHECK(put("f", S_IFREG | 0644, NULL, "new") == 0);
	CHECK(holds(root, "f", "new") && holds(outside, "victim", "old"));
	teardown();
}

static void hard_links_lead_only_to_what_was_just_made(void)
{
	setup();
	fileio_replace(root, "there", "old", 3, 0644, 0, &err);
	fileio_replace(outside, "victim", "old", 3, 0644, 0, &err);
	CHECK(put("h", S_IFREG | 0644, "there", "") < 0);
	CHECK(put("made", S_IFREG | 0644, NULL, "x") == 0);
	unlinkat(root, "made", 0);
	CHECK(linkat(outside, "victim", root, "made", 0) == 0);
	CHECK(put("h", S_IFREG | 0644, "made", "") < 0);
	CHECK(faccessat(root, "h", F_OK, 0) < 0);
	teardown();
}

static void special_bits_and_special_files_are_dropped(void)
{
	struct stat st;

	setup();
	CHECK(put("f", S_IFREG | 07755, NULL, "x") == 0);
	CHECK(put("d", S_IFDIR | 07777, NULL, "") == 0);
	CHECK(tree_writer_finish(writer, &err) == 0);
	REQUIRE(fstatat(root, "f", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0755);
	REQUIRE(fstatat(root, "d", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 01777);
	CHECK(put("c", S_IFCHR | 0666, NULL, "") < 0);
	CHECK(put("b", S_IFBLK | 0666, NULL, "") < 0);
	CHECK(put("p", S_IFIFO | 0666, NULL, "") < 0);
	CHECK(put("s", S_IFSOCK | 0666, NULL, "") < 0);
	CHECK(count(root) == 2);
	teardown();
}

static void an_unfinished_file_leaves_nothing(void)
{
	struct tar_entry entry = { .path = "f",
				   .mode = S_IFREG | 0644,
				   .size = 10 };

	setup();
	fileio_replace(root, "f", "old", 3, 0644, 0, &err);
	CHECK(tree_writer_entry(writer, &entry, &err) == 0);
	CHECK(tree_writer_data(writer, "half", 4, &err) == 0);
	CHECK(holds(root, "f", "old"));
	teardown();
	CHECK(holds(root, "f", "old") && count(root) == 1);
}

static void a_folder_is_not_replaced_by_a_file(void)
{
	setup();
	mkdirat(root, "d", 0755);
	CHECK(put("d", S_IFREG | 0644, NULL, "x") < 0 && err.code == EISDIR);
	CHECK(put("d", S_IFLNK | 0777, "x", "") < 0);
	fileio_replace(root, "f", "old", 3, 0644, 0, &err);
	CHECK(put("f", S_IFDIR | 0755, NULL, "") < 0);
	CHECK(holds(root, "f", "old"));
	teardown();
}

static void missing_folders_are_made(void)
{
	setup();
	CHECK(put("a/b/c/f", S_IFREG | 0644, NULL, "x") == 0);
	CHECK(holds(root, "a/b/c/f", "x"));
	teardown();
}

static void missing_folders_belong_to_the_owner_of_the_one_above(void)
{
	struct stat st;

	setup();
	CHECK(fchown(root, 1234, 1235) == 0);
	CHECK(put("a/b/f", S_IFREG | 0644, NULL, "x") == 0);
	REQUIRE(fstatat(root, "a", &st, 0) == 0);
	CHECK(st.st_uid == 1234 && st.st_gid == 1235);
	REQUIRE(fstatat(root, "a/b", &st, 0) == 0);
	CHECK(st.st_uid == 1234 && st.st_gid == 1235);
	teardown();
}

static void a_link_that_cannot_be_made_takes_no_place(void)
{
	setup();
	CHECK(put("kept", S_IFREG | 0644, NULL, "old") == 0);
	/* the kernel makes no link to nothing */
	CHECK(put("kept", S_IFLNK | 0777, "", "") < 0);
	CHECK(holds(root, "kept", "old") && count(root) == 1);
	CHECK(put("twin", S_IFREG | 0644, "kept", "") == 0);
	CHECK(put("twin", S_IFREG | 0644, "kept", "") == 0);
	CHECK(put("kept", S_IFLNK | 0777, "x", "") == 0);
	CHECK(mkdirat(root, "folder", 0755) == 0);
	CHECK(put("folder", S_IFLNK | 0777, "x", "") < 0);
	CHECK(holds(root, "twin", "old") && count(root) == 3);
	teardown();
}

static void zeroes_become_holes(void)
{
	static char bytes[1u << 20];
	struct tar_entry entry = { .path = "f",
				   .mode = S_IFREG | 0644,
				   .size = sizeof(bytes) + 1 };
	struct stat st;

	setup();
	CHECK(tree_writer_entry(writer, &entry, &err) == 0);
	CHECK(tree_writer_data(writer, bytes, sizeof(bytes), &err) == 0);
	CHECK(tree_writer_data(writer, "x", 1, &err) == 0);
	CHECK(tree_writer_end(writer, &err) == 0);
	REQUIRE(fstatat(root, "f", &st, 0) == 0);
	CHECK(st.st_size == sizeof(bytes) + 1);
	CHECK(st.st_blocks < 1024);
	teardown();
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	RUN(files_folders_and_links_keep_mode_and_time);
	RUN(a_planted_link_is_never_written_through);
	RUN(a_link_of_the_archive_is_not_followed_by_it);
	RUN(a_link_to_a_file_is_replaced_not_written_through);
	RUN(hard_links_lead_only_to_what_was_just_made);
	RUN(special_bits_and_special_files_are_dropped);
	RUN(an_unfinished_file_leaves_nothing);
	RUN(a_folder_is_not_replaced_by_a_file);
	RUN(missing_folders_are_made);
	if (geteuid() == 0)
		RUN(missing_folders_belong_to_the_owner_of_the_one_above);
	else
		SKIP(missing_folders_belong_to_the_owner_of_the_one_above,
		     "needs root");
	RUN(a_link_that_cannot_be_made_takes_no_place);
	RUN(zeroes_become_holes);
	close(root);
	close(outside);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}
