/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fileio.c - unit tests of base/fileio.h, in a folder of their own
 */
#include "base/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

static int dir = -1;
static char dir_path[256];

static bool exists(const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool put(const char *name, const char *text)
{
	return fileio_replace(dir, name, text, strlen(text), 0600, 0, NULL) ==
	       0;
}

static bool holds(const char *name, const char *want)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1 << 20);

	return fileio_read(dir, name, &out, NULL) == 0 &&
	       out.len == strlen(want) &&
	       memcmp(out.len ? (char *)out.data : "", want, out.len) == 0;
}

static void replaced_file_has_content_and_mode(void)
{
	struct error err = { 0 };
	struct stat st;
	mode_t before = umask(077);

	CHECK(fileio_replace(dir, "a", "one", 3, 0644, FILEIO_SYNC, &err) == 0);
	umask(before);
	CHECK(holds("a", "one"));
	CHECK(fstatat(dir, "a", &st, 0) == 0 && (st.st_mode & 0777) == 0644);
	CHECK(fileio_replace(dir, "a", "", 0, 0600, 0, &err) == 0);
	CHECK(holds("a", ""));
	CHECK(fstatat(dir, "a", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
}

static int entries(void)
{
	DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY));
	int count = 0;

	while (readdir(list))
		count++;
	closedir(list);
	return count - 2;
}

static void failed_replace_leaves_nothing_behind(void)
{
	struct error err = { 0 };
	int before;

	CHECK(mkdirat(dir, "folder", 0700) == 0);
	before = entries();
	CHECK(fileio_replace(dir, "folder", "x", 1, 0600, 0, &err) == -1);
	CHECK(text_starts(err.text, "folder: "));
	CHECK(fileio_replace(dir, "no/such", "x", 1, 0600, 0, &err) == -1);
	CHECK(entries() == before);
	CHECK(fileio_replace(dir, "folder/b", "x", 1, 0600, FILEIO_SYNC,
			     &err) == 0);
	CHECK(holds("folder/b", "x"));
}

static void replace_takes_the_place_of_a_link(void)
{
	CHECK(put("target", "old"));
	CHECK(symlinkat("target", dir, "link") == 0);
	CHECK(put("link", "new"));
	CHECK(holds("target", "old") && holds("link", "new"));
}

static void real_path_leads_through_no_link(void)
{
	char folder[300], link[300], last[300];
	AUTO_CLOSE int fd = -1;

	(void)text_format(folder, sizeof(folder), "%s/real/in", dir_path);
	(void)text_format(link, sizeof(link), "%s/linked/in", dir_path);
	(void)text_format(last, sizeof(last), "%s/real/last", dir_path);
	CHECK(fileio_mkdirs(folder, 0700, NULL) == 0);
	CHECK(symlinkat("real", dir, "linked") == 0);
	CHECK(symlinkat("in", dir, "real/last") == 0);
	fd = fileio_open_real(folder, O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0);
	CHECK(fileio_open_real(link, O_RDONLY | O_DIRECTORY) < 0);
	CHECK(errno == ELOOP);
	CHECK(fileio_open_real(last, O_RDONLY) < 0);
	CHECK(errno == ELOOP);
}

static void read_refuses_links_fifos_folders_and_too_much(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(3);
	struct error err = { 0 };

	CHECK(put("four", "1234") && put("three", "123"));
	CHECK(symlinkat("three", dir, "link3") == 0);
	CHECK(mkfifoat(dir, "fifo", 0600) == 0);
	CHECK(fileio_read(dir, "three", &out, &err) == 0 && out.len == 3);
	buffer_release(&out);
	CHECK(fileio_read(dir, "four", &out, &err) == -1 && err.code == EFBIG);
	CHECK(fileio_read(dir, "link3", &out, &err) == -1);
	CHECK(err.code == ELOOP);
	CHECK(fileio_read(dir, "fifo", &out, &err) == -1);
	CHECK(fileio_read(dir, ".", &out, &err) == -1);
	CHECK(fileio_read(dir, "none", &out, &err) == -1);
	CHECK(err.code == ENOENT);
}

static void writing_fails_with_words(void)
{
	struct error err = { 0 };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	CHECK(fileio_write_all(fd, "x", 1, &err) == -1 && err.code == ENOSPC);
	CHECK(fileio_write_all(fd, "x", 0, &err) == 0);
	CHECK(fileio_pwrite_all(fd, "x", 1, 5, &err) == -1);
	close(fd);
}

static void folders_are_made_with_their_parents(void)
{
	char path[512];
	struct error err = { 0 };

	(void)text_format(path, sizeof(path), "%s/p/q//r/", dir_path);
	CHECK(fileio_mkdirs(path, 0700, &err) == 0);
	CHECK(fileio_mkdirs(path, 0700, &err) == 0);
	CHECK(exists("p/q/r"));
	CHECK(fileio_sync_dir(path, &err) == 0);
	CHECK(put("file", "x"));
	(void)text_format(path, sizeof(path), "%s/file/sub", dir_path);
	CHECK(fileio_mkdirs(path, 0700, &err) == -1 && err.code == ENOTDIR);
	(void)text_format(path, sizeof(path), "%s/file", dir_path);
	CHECK(fileio_mkdirs(path, 0700, &err) == -1 && err.code == ENOTDIR);
	CHECK(fileio_mkdirs("", 0700, &err) == -1);
	CHECK(fileio_mkdirs("/", 0700, &err) == 0);
}

static void tree_is_removed_without_following_links(void)
{
	struct error err = { 0 };

	CHECK(mkdirat(dir, "precious", 0700) == 0);
	CHECK(put("precious/file", "x"));
	CHECK(mkdirat(dir, "tree", 0700) == 0);
	CHECK(mkdirat(dir, "tree/sub", 0700) == 0);
	CHECK(mkdirat(dir, "tree/sub2", 0700) == 0);
	CHECK(put("tree/sub/file", "x") && put("tree/.hidden", "x"));
	CHECK(symlinkat("../../precious", dir, "tree/sub/link") == 0);
	CHECK(symlinkat("../precious", dir, "tree/link") == 0);
	CHECK(mkfifoat(dir, "tree/sub2/fifo", 0600) == 0);
	CHECK(fileio_remove_tree(dir, "tree", &err) == 0);
	CHECK(!exists("tree") && exists("precious/file"));
	/* The name itself may be a link, a file, or nothing. */
	CHECK(symlinkat("precious", dir, "toplink") == 0);
	CHECK(fileio_remove_tree(dir, "toplink", &err) == 0);
	CHECK(!exists("toplink") && exists("precious/file"));
	CHECK(fileio_remove_tree(dir, "precious/file", &err) == 0);
	CHECK(!exists("precious/file"));
	CHECK(fileio_remove_tree(dir, "nothing", &err) == 0);
	CHECK(fileio_remove_tree(dir, "precious", &err) == 0);
}

/* root may read anything; the rule matters for ordinary users. */
static int remove_as_nobody(const char *name)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct error err = { 0 };

		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(2);
		if (fileio_remove_tree(dir, name, &err) == 0)
			_exit(0);
		printf("# %s\n", err.text);
		fflush(stdout);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void unreadable_folders_are_removed(void)
{
	static const char *const names[] = { "locked/a/b/c", "locked/a/b",
					     "locked/a", "locked" };
	bool root = geteuid() == 0;

	CHECK(mkdirat(dir, "locked", 0700) == 0);
	CHECK(mkdirat(dir, "locked/a", 0700) == 0);
	CHECK(mkdirat(dir, "locked/a/b", 0700) == 0);
	CHECK(put("locked/a/b/c", "x"));
	CHECK(!root || fchmod(dir, 0777) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK(fchmodat(dir, names[i], 0, 0) == 0);
		CHECK(!root || fchownat(dir, names[i], 65534, 65534, 0) == 0);
	}
	CHECK(remove_as_nobody("locked") == 0);
	CHECK(!exists("locked"));
}

static void foreign_folder_is_an_error_and_stays(void)
{
	CHECK(mkdirat(dir, "foreign", 0755) == 0);
	CHECK(put("foreign/file", "x"));
	CHECK(remove_as_nobody("foreign") != 0);
	CHECK(exists("foreign/file"));
	CHECK(fileio_remove_tree(dir, "foreign", NULL) == 0);
}

/* Exit codes: 0 nothing was lost, 77 no mounts here, 1 something was lost. */
static int remove_with_mounts(void)
{
	char inner[512], source[512];

	(void)text_format(inner, sizeof(inner), "%s/mounted/inner", dir_path);
	(void)text_format(source, sizeof(source), "%s/source", dir_path);
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(source, inner, NULL, MS_BIND, NULL) < 0)
		return 77;
	return fileio_remove_tree(dir, "mounted", NULL) == 0 ||
	       fileio_remove_tree(dir, "mounted/inner", NULL) == 0 ||
	       !exists("source/file");
}

static void what_is_mounted_in_a_tree_is_not_emptied(void)
{
	int status;
	pid_t pid;

	CHECK(mkdirat(dir, "mounted", 0700) == 0);
	CHECK(mkdirat(dir, "mounted/inner", 0700) == 0);
	CHECK(mkdirat(dir, "source", 0700) == 0 && put("source/file", "x"));
	pid = fork();
	if (pid == 0)
		_exit(remove_with_mounts());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		printf("# no mounts possible here: nothing was checked\n");
	else
		CHECK(status == 0);
}

static void very_deep_tree_is_removed(void)
{
	enum { DEPTH = 3000 };
	AUTO_CLOSE int here = dup(dir);
	struct error err = { 0 };

	for (int i = 0; i < DEPTH; i++) {
		int below;

		REQUIRE(mkdirat(here, "deep", 0700) == 0);
		below = openat(here, "deep", O_RDONLY | O_DIRECTORY);
		REQUIRE(below >= 0);
		close(here);
		here = below;
	}
	CHECK(fileio_remove_tree(dir, "deep", &err) == 0);
	CHECK(!exists("deep"));
}

static void wide_tree_is_removed(void)
{
	char name[64];

	CHECK(mkdirat(dir, "wide", 0700) == 0);
	for (int i = 0; i < 300; i++) {
		(void)text_format(name, sizeof(name), "wide/%d", i);
		CHECK(mkdirat(dir, name, 0700) == 0);
		(void)text_format(name, sizeof(name), "wide/%d/f", i);
		CHECK(mknodat(dir, name, S_IFREG | 0600, 0) == 0);
	}
	CHECK(fileio_remove_tree(dir, "wide", NULL) == 0);
	CHECK(!exists("wide"));
}

static void absolute_path_is_removed(void)
{
	char path[512];

	CHECK(mkdirat(dir, "abs", 0700) == 0 && put("abs/f", "x"));
	(void)text_format(path, sizeof(path), "%s/abs", dir_path);
	CHECK(fileio_remove_tree(AT_FDCWD, path, NULL) == 0);
	CHECK(!exists("abs"));
}

static void lock_is_held_until_the_descriptor_is_closed(void)
{
	struct error err = { 0 };
	int fd;

	CHECK(fileio_is_locked(dir, "lock") == 0);
	fd = fileio_lock(dir, "lock", FILEIO_LOCK_WAIT, &err);
	REQUIRE(fd >= 0);
	CHECK(fileio_is_locked(dir, "lock") == 1);
	CHECK(fileio_is_locked(dir, "lock") == 1);
	CHECK(fileio_lock(dir, "lock", FILEIO_LOCK_TRY, &err) == -1);
	CHECK(err.code == EWOULDBLOCK);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	CHECK(fileio_is_locked(dir, "lock") == 0);
	fd = fileio_lock(dir, "lock", FILEIO_LOCK_TRY, &err);
	CHECK(fd >= 0);
	close(fd);
}

static bool same_content(int a, int b, off_t size)
{
	static char left[65536], right[65536];

	for (off_t pos = 0; pos < size; pos += (off_t)sizeof(left)) {
		ssize_t n = pread(a, left, sizeof(left), pos);

		if (n <= 0 || pread(b, right, sizeof(right), pos) != n ||
		    memcmp(left, right, (size_t)n) != 0)
			return false;
	}
	return true;
}

static void check_copy(off_t size, const off_t *spots, size_t count)
{
	AUTO_CLOSE int from =
		openat(dir, "from", O_RDWR | O_CREAT | O_TRUNC, 0600);
	AUTO_CLOSE int to = openat(dir, "to", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct error err = { 0 };
	struct stat st, copy;

	REQUIRE(from >= 0 && to >= 0 && ftruncate(from, size) == 0);
	for (size_t i = 0; i < count; i++)
		CHECK(pwrite(from, "data", 4, spots[i]) == 4);
	/* What the target held before must not show. */
	CHECK(pwrite(to, "old old old", 11, 0) == 11);
	CHECK(fileio_copy_sparse(from, to, &err) == 0);
	CHECK(fstat(from, &st) == 0 && fstat(to, &copy) == 0);
	CHECK(copy.st_size == st.st_size);
	CHECK(copy.st_blocks <= st.st_blocks + 64);
	CHECK(same_content(from, to, st.st_size));
}

static void copy_keeps_content_and_holes(void)
{
	static const off_t ends[] = { 0, (8 << 20) - 4 };
	static const off_t middle[] = { 3 << 20, 5 << 20 };

	check_copy(8 << 20, ends, 2);
	check_copy(8 << 20, middle, 2);
	check_copy(8 << 20, NULL, 0);
	check_copy(0, NULL, 0);
}

static void copy_across_file_systems_works(void)
{
	AUTO_CLOSE int from = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	AUTO_CLOSE int to = openat(dir, "across", O_RDWR | O_CREAT, 0600);
	AUTO_CLOSE int null = open("/dev/null", O_RDWR);
	struct error err = { 0 };

	REQUIRE(from >= 0 && to >= 0);
	CHECK(ftruncate(from, 1 << 20) == 0);
	CHECK(pwrite(from, "data", 4, 700000) == 4);
	CHECK(fileio_copy_sparse(from, to, &err) == 0);
	CHECK(same_content(from, to, 1 << 20));
	CHECK(fileio_copy_sparse(null, to, &err) == -1);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)text_format(dir_path, sizeof(dir_path), "%s/bawn-test-XXXXXX",
			  tmp ? tmp : "/tmp");
	if (!mkdtemp(dir_path))
		return 1;
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(replaced_file_has_content_and_mode);
	RUN(failed_replace_leaves_nothing_behind);
	RUN(replace_takes_the_place_of_a_link);
	RUN(real_path_leads_through_no_link);
	RUN(read_refuses_links_fifos_folders_and_too_much);
	RUN(writing_fails_with_words);
	RUN(folders_are_made_with_their_parents);
	RUN(tree_is_removed_without_following_links);
	RUN(unreadable_folders_are_removed);
	if (geteuid() == 0)
		RUN(foreign_folder_is_an_error_and_stays);
	else
		SKIP(foreign_folder_is_an_error_and_stays, "needs root");
	RUN(what_is_mounted_in_a_tree_is_not_emptied);
	RUN(very_deep_tree_is_removed);
	RUN(wide_tree_is_removed);
	RUN(absolute_path_is_removed);
	RUN(lock_is_held_until_the_descriptor_is_closed);
	RUN(copy_keeps_content_and_holes);
	RUN(copy_across_file_systems_works);
	close(dir);
	CHECK(fileio_remove_tree(AT_FDCWD, dir_path, NULL) == 0);
	return DONE();
}
