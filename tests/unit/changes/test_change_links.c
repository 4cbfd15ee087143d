/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change_links.c - attributes and names of one file, on their way to the
 * host
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hide_pattern.h"
#include "base/own.h"
#include "changes/base_file.h"
#include "changes/change_apply.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "lib/tap.h"
#include "tar/tar_write.h"

static char top[] = "/tmp/change-links-XXXXXX";
static int root = -1;
static bool keeps_attributes;
static struct error err;
static struct buffer archive;
static struct change_set set;
static struct base_list base;
static struct hide_list hide;
static struct change_list list;

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

static void note_base(void)
{
	AUTO_CLOSE int fd = memfd_create("base", MFD_CLOEXEC);

	CHECK(base_scan(root, fd, &err) == 0);
	CHECK(base_each(fd, collect, &base, &err) == 0);
	base_list_sort(&base);
}

static void begin(void)
{
	fileio_remove_tree(AT_FDCWD, top, &err);
	CHECK(mkdir(top, 0755) == 0);
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_host("a", "one\n");
	put_host("b", "two\n");
	CHECK(mkdirat(root, "d", 0755) == 0);
	buffer_init(&archive, 1u << 20);
	set = CHANGE_SET_INIT;
	err = (struct error){ 0 };
}

static void add(const char *path, mode_t mode, const char *text,
		const char *attribute)
{
	static const char zeroes[TAR_BLOCK];
	struct tar_xattr item = { "user.note", attribute,
				  attribute ? strlen(attribute) : 0 };
	struct tar_entry entry = { .path = path,
				   .mode = mode,
				   .mtime = 7,
				   .size = strlen(text),
				   .xattrs = &item,
				   .xattr_count = attribute != NULL };

	CHECK(tar_write_entry(&entry, &archive) == 0);
	buffer_append(&archive, text, entry.size);
	buffer_append(&archive, zeroes, tar_padding(entry.size));
}

static void add_link(const char *path, const char *target)
{
	struct tar_entry entry = { .path = path,
				   .mode = S_IFREG | 0600,
				   .target = target,
				   .hard_link = true };

	CHECK(tar_write_entry(&entry, &archive) == 0);
}

static int load(void)
{
	struct change_context context = {
		.set = &set, .root = root, .base = &base, .hide = &hide
	};
	int fd = memfd_create("set", MFD_CLOEXEC);

	tar_write_end(&archive);
	CHECK(write(fd, archive.data, archive.len) == (ssize_t)archive.len);
	if (change_set_load(&set, fd, &err) < 0)
		return -1;
	return change_list_make(&context, &list, &err);
}

static bool may_link(void *ctx, const char *path)
{
	return strcmp(path, ctx) != 0;
}

/* ctx: a path that is no name of another file. */
static int apply(const char *alone)
{
	struct apply_setup setup = { .set = &set,
				     .root = root,
				     .may_link = alone ? may_link : NULL,
				     .ctx = (void *)alone };

	return change_apply(&setup, &list, &err);
}

static void end(void)
{
	change_list_release(&list);
	change_set_release(&set);
	base_list_release(&base);
	buffer_release(&archive);
	close(root);
}

static bool holds(const char *path, const char *content)
{
	AUTO_BUFFER struct buffer found = BUFFER_INIT(100);
	struct error unread;

	return fileio_read(root, path, &found, &unread) == 0 &&
	       !strcmp(buffer_str(&found), content);
}

/* One inode, and as many names as that. */
static bool is_one(const char *a, const char *b, nlink_t count)
{
	struct stat x = { 0 }, y = { 0 };

	return fstatat(root, a, &x, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(root, b, &y, AT_SYMLINK_NOFOLLOW) == 0 &&
	       x.st_ino == y.st_ino && x.st_nlink == count;
}

static void keep_only(const char *path)
{
	change_list_select(&list, (const char *const[]){ path, NULL });
}

static void names_of_one_file_stay_one(void)
{
	begin();
	note_base();
	add("a", S_IFREG | 0644, "guest\n", NULL);
	add("d", S_IFDIR | 0755, "", NULL);
	add_link("d/x", "a");
	add_link("n", "a");
	REQUIRE(load() == 0 && list.count == 3);
	CHECK(!strcmp(list.changes[0].linked, "d/x") &&
	      !strcmp(list.changes[2].linked, "a"));
	CHECK(apply(NULL) == 0);
	CHECK(holds("n", "guest\n") && is_one("a", "n", 3) &&
	      is_one("a", "d/x", 3));
	end();
}

static void a_name_beside_a_file_that_was_not_changed_leads_to_it(void)
{
	struct stat before, after;

	begin();
	note_base();
	REQUIRE(fstatat(root, "a", &before, 0) == 0);
	add("a", S_IFREG | 0644, "one\n", NULL);
	add_link("n", "a");
	REQUIRE(load() == 0 && list.count == 1);
	CHECK(apply(NULL) == 0 && is_one("a", "n", 2));
	REQUIRE(fstatat(root, "a", &after, 0) == 0);
	CHECK(before.st_ino == after.st_ino);
	end();
}

static void names_that_are_chosen_one_by_one_become_one(void)
{
	begin();
	note_base();
	add("a", S_IFREG | 0644, "guest\n", NULL);
	add_link("n", "a");
	REQUIRE(load() == 0 && list.count == 2);
	keep_only("n");
	CHECK(apply(NULL) == 0);
	CHECK(holds("a", "one\n") && holds("n", "guest\n") &&
	      is_one("n", "n", 1));
	change_list_release(&list);
	change_set_release(&set);
	REQUIRE(load() == 0 && list.count == 1);
	CHECK(apply(NULL) == 0 && is_one("a", "n", 2));
	end();
}

static void what_is_held_is_no_name_of_another_file(void)
{
	begin();
	note_base();
	add("a", S_IFREG | 0644, "one\n", NULL);
	add_link("n", "a");
	add_link("o", "a");
	REQUIRE(load() == 0);
	CHECK(apply("a") == 0 && holds("n", "one\n"));
	CHECK(is_one("a", "a", 1) && is_one("n", "o", 2));
	end();
	begin();
	note_base();
	add("a", S_IFREG | 0644, "one\n", NULL);
	add_link("n", "a");
	REQUIRE(load() == 0);
	CHECK(apply("n") == 0 && is_one("a", "a", 1) && holds("n", "one\n"));
	end();
}

static void other_names_of_the_hosts_file_are_left_alone(void)
{
	struct stat before, after;

	begin();
	CHECK(linkat(root, "a", root, "other", 0) == 0);
	note_base();
	REQUIRE(fstatat(root, "other", &before, 0) == 0);
	add("a", S_IFREG | 0755, "one\n", NULL);
	REQUIRE(load() == 0 && list.count == 1);
	CHECK(list.changes[0].kind == CHANGE_MODE && apply(NULL) == 0);
	REQUIRE(fstatat(root, "other", &after, 0) == 0);
	CHECK(after.st_mode == before.st_mode && after.st_nlink == 1);
	REQUIRE(fstatat(root, "a", &after, 0) == 0);
	/* what was built of it is as new as before */
	CHECK((after.st_mode & 0777) == 0755 &&
	      after.st_mtime == before.st_mtime);
	end();
}

static void further_names_of_anything_else_are_refused(void)
{
	begin();
	add_link("n", "a");
	CHECK(load() < 0);
	end();
	begin();
	add("d", S_IFDIR | 0755, "", NULL);
	add_link("n", "d");
	CHECK(load() < 0);
	end();
	begin();
	add("a", S_IFREG | 0644, "", NULL);
	add_link("n", "a");
	add_link("o", "n");
	CHECK(load() < 0);
	end();
	begin();
	add_link("n", "n");
	CHECK(load() < 0);
	end();
}

static bool has(const char *path, const char *value)
{
	AUTO_CLOSE int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	char now[16] = "";
	ssize_t len = fgetxattr(fd, "user.note", now, sizeof(now) - 1);

	return value ? len >= 0 && !strcmp(now, value) : len < 0;
}

static void set_host(const char *path, const char *value)
{
	AUTO_CLOSE int fd = openat(root, path, O_RDONLY | O_CLOEXEC);

	CHECK(fsetxattr(fd, "user.note", value, strlen(value), 0) == 0);
}

static void attributes_are_changes_and_are_applied(void)
{
	struct stat before, after;

	begin();
	set_host("b", "gone");
	note_base();
	REQUIRE(fstatat(root, "a", &before, 0) == 0);
	add("a", S_IFREG | 0755, "one\n", "guest");
	add("b", S_IFREG | 0644, "two\n", NULL);
	add("d", S_IFDIR | 0750, "", "folder");
	add("d/n", S_IFREG | 0644, "new", "new");
	REQUIRE(load() == 0 && list.count == 4);
	for (size_t i = 0; i < 3; i++)
		CHECK(list.changes[i].kind == CHANGE_ATTRIBUTES &&
		      !list.changes[i].conflict);
	CHECK(apply(NULL) == 0);
	CHECK(has("a", "guest") && has("b", NULL) && has("d", "folder") &&
	      has("d/n", "new") && holds("a", "one\n"));
	REQUIRE(fstatat(root, "a", &after, 0) == 0);
	CHECK((after.st_mode & 0777) == 0755 &&
	      after.st_mtime == before.st_mtime);
	REQUIRE(fstatat(root, "d", &after, 0) == 0);
	CHECK((after.st_mode & 0777) == 0750);
	change_list_release(&list);
	change_set_release(&set);
	REQUIRE(load() == 0 && list.count == 0);
	end();
}

static void an_attribute_that_both_sides_changed_is_a_conflict(void)
{
	begin();
	note_base();
	set_host("a", "host");
	set_host("d", "host");
	add("a", S_IFREG | 0644, "guest\n", "guest");
	add("d", S_IFDIR | 0755, "", "guest");
	REQUIRE(load() == 0 && list.count == 2);
	CHECK(list.changes[0].conflict && list.changes[1].conflict);
	CHECK(apply(NULL) == 0 && has("a", "host") && has("d", "host") &&
	      holds("a", "one\n"));
	end();
}

static void a_file_comes_with_all_its_attributes_or_not_at_all(void)
{
	static char large[65536];
	struct tar_xattr item = { "user.large", large, sizeof(large) };
	struct tar_entry entry = { .path = "a",
				   .mode = S_IFREG | 0644,
				   .xattrs = &item,
				   .xattr_count = 1 };

	begin();
	set_host("a", "host");
	note_base();
	CHECK(tar_write_entry(&entry, &archive) == 0);
	entry.path = "n";
	CHECK(tar_write_entry(&entry, &archive) == 0);
	REQUIRE(load() == 0 && list.count == 2);
	/* a file system that takes one so large has nothing to refuse */
	if (apply(NULL) < 0)
		CHECK(holds("a", "one\n") && has("a", "host") &&
		      faccessat(root, "n", F_OK, 0) < 0 &&
		      strstr(err.text, "a: "));
	end();
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	keeps_attributes = setxattr(top, "user.a", "", 0, 0) == 0;
	RUN(names_of_one_file_stay_one);
	RUN(a_name_beside_a_file_that_was_not_changed_leads_to_it);
	RUN(names_that_are_chosen_one_by_one_become_one);
	RUN(what_is_held_is_no_name_of_another_file);
	RUN(other_names_of_the_hosts_file_are_left_alone);
	RUN(further_names_of_anything_else_are_refused);
	if (keeps_attributes) {
		RUN(attributes_are_changes_and_are_applied);
		RUN(an_attribute_that_both_sides_changed_is_a_conflict);
		RUN(a_file_comes_with_all_its_attributes_or_not_at_all);
	}
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}
