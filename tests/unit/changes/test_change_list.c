/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change_list.c - what a set of changes does to a folder, and what not
 */
#include "changes/change_list.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hide_pattern.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/apply_room.h"
#include "changes/base_file.h"
#include "changes/change_apply.h"
#include "changes/change_set.h"
#include "lib/tap.h"
#include "tar/tar_write.h"

static char top[] = "/tmp/change-list-XXXXXX";
static int root = -1, outside = -1;
static struct error err;
static struct buffer archive;
static struct change_set set;
static struct base_list base, same;
static struct hide_list hide;
static struct change_list list;
static size_t applied_count;

static int collect(void *ctx, const struct base_record *record)
{
	base_list_add(ctx, record);
	return 0;
}

static void put_host(const char *path, const char *content)
{
	CHECK(fileio_replace(root, path, content, strlen(content), 0644, 0,
			     &err) == 0);
}

/* A folder with a few files, of which the base is known. */
static void begin(void)
{
	AUTO_CLOSE int fd = memfd_create("base", MFD_CLOEXEC);
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fileio_remove_tree(at, "root", &err);
	fileio_remove_tree(at, "outside", &err);
	mkdirat(at, "root", 0755);
	mkdirat(at, "outside", 0755);
	root = openat(at, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	outside = openat(at, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(at);
	mkdirat(root, "d", 0755);
	mkdirat(root, "d/e", 0755);
	put_host("a", "one\n");
	put_host("d/b", "two\n");
	put_host("d/e/c", "three\n");
	CHECK(symlinkat("a", root, "l") == 0);
	CHECK(base_scan(root, fd, &err) == 0);
	CHECK(base_each(fd, collect, &base, &err) == 0);
	base_list_sort(&base);
	buffer_init(&archive, 1u << 20);
	set = CHANGE_SET_INIT;
	err = (struct error){ 0 };
}

static void add(const char *path, mode_t mode, const char *text,
		const char *note)
{
	static const char zeroes[TAR_BLOCK];
	struct tar_entry entry = {
		.path = path, .mode = mode, .mtime = 7, .note = note
	};

	if (S_ISLNK(mode))
		entry.target = text;
	else
		entry.size = strlen(text);
	CHECK(tar_write_entry(&entry, &archive) == 0);
	buffer_append(&archive, text, entry.size);
	buffer_append(&archive, zeroes, tar_padding(entry.size));
}

static int load(void)
{
	struct change_context context = { &set, root, &base, &hide, &same };
	int fd = memfd_create("set", MFD_CLOEXEC);

	tar_write_end(&archive);
	CHECK(write(fd, archive.data, archive.len) == (ssize_t)archive.len);
	if (change_set_load(&set, fd, &err) < 0)
		return -1;
	return change_list_make(&context, &list, &err);
}

static void on_applied(void *ctx, size_t at)
{
	applied_count++;
}

static int apply(bool force)
{
	struct apply_setup setup = {
		.set = &set, .root = root, .force = force, .applied = on_applied
	};

	applied_count = 0;
	return change_apply(&setup, &list, &err);
}

static void end(void)
{
	change_list_release(&list);
	change_set_release(&set);
	base_list_release(&base);
	base_list_release(&same);
	hide_list_release(&hide);
	buffer_release(&archive);
	close(root);
	close(outside);
}

static bool is(size_t at, enum change_kind kind, const char *path)
{
	return at < list.count && list.changes[at].kind == kind &&
	       !strcmp(list.changes[at].path, path);
}

static bool holds(const char *path, const char *content)
{
	AUTO_BUFFER struct buffer found = BUFFER_INIT(100);
	struct error unread;

	return fileio_read(root, path, &found, &unread) == 0 &&
	       !strcmp(buffer_str(&found), content);
}

static bool is_gone(const char *path)
{
	return faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

static void copies_that_are_the_same_are_no_changes(void)
{
	begin();
	add("a", S_IFREG | 0644, "one\n", NULL);
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFREG | 0644, "two\n", NULL);
	add("l", S_IFLNK | 0777, "a", NULL);
	REQUIRE(load() == 0);
	CHECK(list.count == 0 && same.count == 3);
	end();
}

static void each_kind_of_change_is_found_and_applied(void)
{
	char target[8] = "";
	struct stat st;

	begin();
	add("a", S_IFREG | 0755, "one\n", NULL);
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFREG | 04644, "2\n", NULL);
	add("d/e", S_IFREG, "", TAR_NOTE_DELETED);
	add("l", S_IFLNK | 0777, "d/b", NULL);
	add("n", S_IFDIR | 0700, "", NULL);
	add("n/f", S_IFREG | 0600, "new", NULL);
	REQUIRE(load() == 0);
	CHECK(is(0, CHANGE_MODE, "a") && is(1, CHANGE_MODIFIED, "d/b") &&
	      is(2, CHANGE_DELETED, "d/e") && is(3, CHANGE_DELETED, "d/e/c") &&
	      is(4, CHANGE_MODIFIED, "l") && is(5, CHANGE_NEW, "n") &&
	      is(6, CHANGE_NEW, "n/f") && list.count == 7);
	for (size_t i = 0; i < list.count; i++)
		CHECK(!list.changes[i].conflict);
	CHECK(apply(false) == 0 && applied_count == 7);
	CHECK(holds("d/b", "2\n") && holds("n/f", "new") && is_gone("d/e"));
	CHECK(fstatat(root, "a", &st, 0) == 0 && (st.st_mode & 0777) == 0755);
	CHECK(fstatat(root, "d/b", &st, 0) == 0 &&
	      (st.st_mode & 07777) == 0644 && st.st_mtime != 7);
	CHECK(fstatat(root, "n", &st, 0) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(readlinkat(root, "l", target, sizeof(target) - 1) == 3);
	end();
}

static void types_change_both_ways(void)
{
	begin();
	add("a", S_IFDIR | 0755, "", NULL);
	add("a/x", S_IFREG | 0644, "x", NULL);
	add("d", S_IFREG | 0644, "now a file", NULL);
	REQUIRE(load() == 0);
	CHECK(is(0, CHANGE_DELETED, "a") && is(1, CHANGE_NEW, "a"));
	CHECK(apply(false) == 0);
	CHECK(holds("a/x", "x") && holds("d", "now a file"));
	end();
}

static void an_opaque_folder_replaces_the_hosts(void)
{
	begin();
	add("d", S_IFDIR | 0755, "", TAR_NOTE_OPAQUE);
	add("d/e", S_IFDIR | 0755, "", NULL);
	add("d/e/new", S_IFREG | 0644, "", NULL);
	REQUIRE(load() == 0);
	CHECK(is(0, CHANGE_DELETED, "d/b") && is(1, CHANGE_DELETED, "d/e/c") &&
	      is(2, CHANGE_NEW, "d/e/new") && list.count == 3);
	end();
}

static void what_both_sides_changed_is_a_conflict(void)
{
	begin();
	add("a", S_IFREG | 0644, "guest\n", NULL);
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFREG, "", TAR_NOTE_DELETED);
	add("d/e", S_IFDIR | 0755, "", NULL);
	add("d/e/c", S_IFREG | 0644, "guest\n", NULL);
	add("new", S_IFREG | 0644, "guest\n", NULL);
	add("free", S_IFREG | 0644, "guest\n", NULL);
	put_host("a", "host\n");
	put_host("d/b", "host\n");
	put_host("new", "host\n");
	unlinkat(root, "d/e/c", 0);
	REQUIRE(load() == 0);
	CHECK(list.count == 5);
	for (size_t i = 0; i < list.count; i++)
		CHECK(!list.changes[i].conflict ==
		      !strcmp(list.changes[i].path, "free"));
	CHECK(apply(false) == 0 && applied_count == 1);
	CHECK(holds("a", "host\n") && holds("d/b", "host\n") &&
	      holds("new", "host\n") && is_gone("d/e/c"));
	CHECK(holds("free", "guest\n"));
	CHECK(apply(true) == 0 && applied_count == 5);
	CHECK(holds("a", "guest\n") && is_gone("d/b") &&
	      holds("d/e/c", "guest\n"));
	end();
}

static void what_lies_in_a_folder_that_is_in_conflict_is_too(void)
{
	begin();
	add("n", S_IFDIR | 0755, "", NULL);
	add("n-", S_IFREG | 0644, "beside", NULL);
	add("n/in", S_IFDIR | 0755, "", NULL);
	add("n/in/x", S_IFREG | 0644, "x", NULL);
	CHECK(symlinkat("../outside", root, "n") == 0);
	REQUIRE(load() == 0);
	CHECK(list.count == 5 && is(2, CHANGE_NEW, "n-") &&
	      !list.changes[2].conflict);
	CHECK(list.changes[0].conflict && list.changes[1].conflict &&
	      list.changes[3].conflict && list.changes[4].conflict);
	CHECK(apply(false) == 0 && applied_count == 1);
	CHECK(apply(true) == 0 && holds("n/in/x", "x"));
	end();
}

static void what_is_withheld_is_not_applied_by_force_either(void)
{
	begin();
	add("a", S_IFREG | 0755, "one\n", NULL);
	add("d", S_IFREG, "", TAR_NOTE_DELETED);
	add("new", S_IFREG | 0644, "guest\n", NULL);
	REQUIRE(load() == 0 && list.count == 6);
	for (size_t i = 0; i < list.count; i++)
		list.changes[i].withheld = strcmp(list.changes[i].path, "d/b");
	CHECK(apply(true) == 0 && applied_count == 1 && is_gone("d/b"));
	CHECK(holds("d/e/c", "three\n") && is_gone("new") &&
	      faccessat(root, "a", X_OK, 0) < 0);
	end();
}

static void a_file_that_the_host_added_keeps_its_folder(void)
{
	begin();
	add("d", S_IFREG, "", TAR_NOTE_DELETED);
	put_host("d/e/mine", "host\n");
	REQUIRE(load() == 0);
	CHECK(apply(false) == 0);
	CHECK(holds("d/e/mine", "host\n") && is_gone("d/b") &&
	      is_gone("d/e/c"));
	end();
}

/* As if the disk took only so many bytes of each file. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void nothing_is_deleted_when_there_is_no_room_for_its_new_name(void)
{
	begin();
	add("a", S_IFREG, "", TAR_NOTE_DELETED);
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFDIR | 0755, "", NULL);
	add("d/b/in", S_IFREG | 0644, "in the place of a file", NULL);
	add("new", S_IFREG | 0644, "what was a, and longer", NULL);
	REQUIRE(load() == 0);
	limit_files(10);
	CHECK(apply(false) < 0 && strstr(err.text, "new"));
	limit_files(RLIM_INFINITY);
	CHECK(applied_count == 0 && holds("a", "one\n") &&
	      holds("d/b", "two\n") && is_gone("new"));
	CHECK(apply(false) == 0);
	CHECK(is_gone("a") && holds("new", "what was a, and longer") &&
	      holds("d/b/in", "in the place of a file"));
	end();
}

static void room_is_what_is_taken_at_once(void)
{
	struct apply_setup setup = { .set = &set, .root = root };
	AUTO_FREE char *large = xmalloc(5001);
	struct stat st;
	uint64_t old_bytes;

	memset(large, 'x', 5000);
	large[5000] = '\0';
	begin();
	put_host("a", large);
	REQUIRE(fstatat(root, "a", &st, 0) == 0);
	old_bytes = (uint64_t)st.st_blocks * 512;
	add("a", S_IFREG | 0644, large, NULL);
	((char *)archive.data)[archive.len - 1024 + 7] ^= 1;
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFREG, "", TAR_NOTE_DELETED);
	add("n", S_IFREG | 0644, large, NULL);
	add("o", S_IFREG | 0644, large, NULL);
	REQUIRE(load() == 0);
	setup.root = root;
	list.changes[0].conflict = NULL;
	/* the second begins when the first has freed what it replaced */
	CHECK(is(0, CHANGE_MODIFIED, "a") &&
	      apply_room_needed(&setup, &list, 1024) ==
		      (old_bytes < 10240 ? 15360 - old_bytes : 5120));
	list.changes[0].conflict = "one";
	CHECK(apply_room_needed(&setup, &list, 1024) == 2 * 5120);
	CHECK(apply_room_check(&setup, &list, &err) == 0);
	end();
}

/* The folder's owner, who is not root. */
static int apply_as_a_user(void)
{
	static const char *const paths[] = { "a", "d", "d/b", "d/e", "d/e/c" };
	bool is_root = geteuid() == 0;
	int result;

	for (size_t i = 0; is_root && i < sizeof(paths) / sizeof(*paths); i++)
		CHECK(fchownat(root, paths[i], 65534, 65534, 0) == 0);
	CHECK(!is_root ||
	      (fchown(root, 65534, 65534) == 0 && seteuid(65534) == 0));
	result = apply(false);
	CHECK(!is_root || seteuid(0) == 0);
	return result;
}

static void folders_are_opened_first_and_closed_last(void)
{
	begin();
	CHECK(fchmodat(root, "d/e", 0555, 0) == 0);
	base_list_release(&base); /* its mode was so before */
	add("d", S_IFDIR | 0555, "", NULL);
	add("d/b", S_IFREG | 0644, "guest", NULL);
	add("d/e", S_IFDIR | 0755, "", NULL);
	add("d/e/c", S_IFREG, "", TAR_NOTE_DELETED);
	add("d/e/x", S_IFREG | 0644, "new", NULL);
	REQUIRE(load() == 0);
	for (size_t i = 0; i < list.count; i++)
		list.changes[i].conflict = NULL;
	CHECK(apply_as_a_user() == 0);
	CHECK(holds("d/b", "guest") && holds("d/e/x", "new") &&
	      is_gone("d/e/c"));
	CHECK(fchmodat(root, "d", 0755, 0) == 0);
	end();
}

static void what_the_guest_cannot_see_it_cannot_change(void)
{
	begin();
	hide_list_add(&hide, "/d/b");
	add("d", S_IFDIR | 0755, "", TAR_NOTE_OPAQUE);
	add("a", S_IFREG | 0644, "guest", NULL);
	hide_list_add(&hide, "a");
	REQUIRE(load() == 0);
	CHECK(is(0, CHANGE_MODIFIED, "a") && list.changes[0].conflict);
	for (size_t i = 0; i < list.count; i++)
		CHECK(strcmp(list.changes[i].path, "d/b") != 0);
	end();
}

static void a_folder_with_hidden_files_is_not_said_to_be_deleted(void)
{
	begin();
	hide_list_add(&hide, "/d/e/c");
	add("d", S_IFREG, "", TAR_NOTE_DELETED);
	REQUIRE(load() == 0);
	CHECK(list.count == 1 && is(0, CHANGE_DELETED, "d/b"));
	CHECK(apply(false) == 0 && holds("d/e/c", "three\n"));
	end();
	begin();
	hide_list_add(&hide, "/d/e/c");
	add("d", S_IFREG | 0644, "in its place", NULL);
	REQUIRE(load() == 0);
	CHECK(list.count == 2 && is(0, CHANGE_NEW, "d") &&
	      list.changes[0].conflict && is(1, CHANGE_DELETED, "d/b"));
	CHECK(apply(false) == 0 && holds("d/e/c", "three\n"));
	end();
}

static void what_was_applied_is_no_change_until_the_guest_touches_it(void)
{
	struct set_entry entry = { .path = (char *)"a",
				   .mode = S_IFREG | 0644,
				   .size = 6,
				   .mtime = 7 };
	struct base_record record;

	begin();
	base_record_of_entry(&record, &entry);
	base_list_add(&base, &record);
	base_list_sort(&base);
	put_host("a", "the host went on\n");
	add("a", S_IFREG | 0644, "guest\n", NULL);
	REQUIRE(load() == 0);
	CHECK(list.count == 0);
	end();
}

static void links_of_the_host_are_not_followed(void)
{
	begin();
	CHECK(symlinkat("../outside", root, "to") == 0);
	add("to", S_IFDIR | 0755, "", NULL);
	add("to/f", S_IFREG | 0644, "x", NULL);
	REQUIRE(load() == 0);
	CHECK(is(0, CHANGE_DELETED, "to") && list.changes[0].conflict);
	CHECK(apply(false) == 0 && applied_count == 0);
	CHECK(faccessat(outside, "f", F_OK, 0) < 0);
	CHECK(apply(true) == 0 && holds("to/f", "x"));
	CHECK(faccessat(outside, "f", F_OK, 0) < 0);
	end();
	/* put there after the host was looked at */
	begin();
	add("to", S_IFDIR | 0755, "", NULL);
	add("to/f", S_IFREG | 0644, "x", NULL);
	REQUIRE(load() == 0);
	CHECK(symlinkat("../outside", root, "to") == 0);
	CHECK(apply(true) < 0 && strstr(err.text, "symbolic link"));
	CHECK(faccessat(outside, "f", F_OK, 0) < 0);
	end();
}

static void hostile_sets_are_refused(void)
{
	begin();
	add("x", S_IFREG | 0644, "1", NULL);
	add("x", S_IFREG | 0644, "2", NULL);
	CHECK(load() < 0);
	end();
	begin();
	add("x", S_IFLNK | 0777, "/tmp", NULL);
	add("x/y", S_IFREG | 0644, "2", NULL);
	CHECK(load() < 0);
	end();
	begin();
	add("no/parent", S_IFREG | 0644, "2", NULL);
	CHECK(load() < 0);
	end();
	begin();
	add("dev", S_IFCHR | 0666, "", NULL);
	CHECK(load() < 0);
	end();
}

static void paths_select(void)
{
	const char *const paths[] = { "d", NULL };

	begin();
	add("a", S_IFREG | 0644, "x", NULL);
	add("d", S_IFDIR | 0755, "", NULL);
	add("d/b", S_IFREG | 0644, "x", NULL);
	add("d-b", S_IFREG | 0644, "x", NULL);
	REQUIRE(load() == 0);
	CHECK(list.count == 3);
	change_list_select(&list, paths);
	CHECK(list.count == 1 && is(0, CHANGE_MODIFIED, "d/b"));
	end();
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	RUN(copies_that_are_the_same_are_no_changes);
	RUN(each_kind_of_change_is_found_and_applied);
	RUN(types_change_both_ways);
	RUN(an_opaque_folder_replaces_the_hosts);
	RUN(what_both_sides_changed_is_a_conflict);
	RUN(what_lies_in_a_folder_that_is_in_conflict_is_too);
	RUN(what_is_withheld_is_not_applied_by_force_either);
	RUN(a_file_that_the_host_added_keeps_its_folder);
	RUN(nothing_is_deleted_when_there_is_no_room_for_its_new_name);
	RUN(room_is_what_is_taken_at_once);
	RUN(folders_are_opened_first_and_closed_last);
	RUN(what_the_guest_cannot_see_it_cannot_change);
	RUN(a_folder_with_hidden_files_is_not_said_to_be_deleted);
	RUN(what_was_applied_is_no_change_until_the_guest_touches_it);
	RUN(links_of_the_host_are_not_followed);
	RUN(hostile_sets_are_refused);
	RUN(paths_select);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}
