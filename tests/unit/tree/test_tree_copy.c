/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree_copy.c - where a copy goes, and that it is the same there
 */
#include "tree/tree_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "lib/tap.h"
#include "tree/tree_walk.h"
#include "tree/tree_write.h"

static char top[] = "/tmp/tree-copy-XXXXXX";
static struct error err;
static int skipped_count;

static void reset(void)
{
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(fchdir(at) == 0);
	fileio_remove_tree(at, "w", &err);
	mkdirat(at, "w", 0755);
	close(at);
	CHECK(chdir("w") == 0);
	mkdir("src", 0755);
	mkdir("src/d", 0750);
	fileio_replace(AT_FDCWD, "src/f", "content", 7, 0600, 0, &err);
	fileio_replace(AT_FDCWD, "src/d/g", "", 0, 0444, 0, &err);
	CHECK(symlink("../../etc", "src/l") == 0);
	CHECK(link("src/f", "src/h") == 0);
	err = (struct error){ 0 };
	skipped_count = 0;
}

static int put(void *ctx, const void *bytes, size_t len, struct error *error)
{
	return tree_unpack_feed(ctx, bytes, len, error);
}

static void on_skipped(void *ctx, const char *path, const char *why)
{
	skipped_count++;
}

static int copy(const char *from, const char *to)
{
	struct tree_unpack_setup setup = {
		.place = { AT_FDCWD, to, false },
		.owner = TREE_OWNER_SAME,
		.limits = { 1000, 10u << 20 },
	};
	struct tree_unpack *unpack = tree_unpack_new(&setup);
	struct tree_walk_setup walk = { .put = put,
					.skipped = on_skipped,
					.ctx = unpack };
	struct tree_place place = { AT_FDCWD, from, false };
	int result = tree_pack(&place, &walk, &err);

	if (result == 0)
		result = tree_unpack_finish(unpack, &err);
	tree_unpack_free(unpack);
	return result;
}

static bool is_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void a_folder_becomes_what_is_missing(void)
{
	struct stat a, b;
	char target[32] = "";

	reset();
	CHECK(copy("src", "dst") == 0);
	CHECK(is_file("dst/f") && is_file("dst/d/g"));
	CHECK(stat("dst/f", &a) == 0 && stat("dst/h", &b) == 0);
	CHECK(a.st_ino == b.st_ino && (a.st_mode & 0777) == 0600);
	CHECK(stat("src/f", &b) == 0 && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec);
	CHECK(stat("dst/d", &a) == 0 && (a.st_mode & 0777) == 0750);
	CHECK(readlink("dst/l", target, sizeof(target) - 1) == 9 &&
	      !strcmp(target, "../../etc"));
}

static void a_folder_goes_into_one_that_is_there(void)
{
	reset();
	mkdir("dst", 0755);
	CHECK(copy("src", "dst") == 0 && is_file("dst/src/f"));
	CHECK(copy("src/.", "dst/") == 0 && is_file("dst/f"));
	/* once more, over what is there */
	CHECK(copy("src/.", "dst") == 0 && is_file("dst/d/g"));
	CHECK(copy("src/.", "new") == 0 && is_file("new/f"));
}

static void a_file_goes_where_the_rules_of_cp_say(void)
{
	reset();
	mkdir("dst", 0755);
	CHECK(copy("src/f", "dst") == 0 && is_file("dst/f"));
	CHECK(copy("src/f", "dst/") == 0);
	CHECK(copy("src/f", "dst/other") == 0 && is_file("dst/other"));
	CHECK(copy("src/d/g", "dst/other") == 0);
	CHECK(copy("src/f", "missing/") < 0);
	CHECK(copy("src/f", "missing/x") < 0);
	CHECK(copy("src/f", "dst/other/x") < 0);
	CHECK(copy("src", "dst/other") < 0);
	CHECK(copy("nothing", "dst") < 0 && strstr(err.text, "nothing"));
}

static void links_are_copied_as_links(void)
{
	struct stat st;

	reset();
	CHECK(symlink("src", "to") == 0);
	CHECK(copy("to", "copied") == 0);
	CHECK(lstat("copied", &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(copy("to/", "followed") == 0 && is_file("followed/f"));
}

static void devices_and_fifos_are_skipped_and_said(void)
{
	reset();
	CHECK(mkfifo("src/p", 0600) == 0);
	CHECK(copy("src", "dst") == 0 && skipped_count == 1);
	CHECK(access("dst/p", F_OK) < 0);
}

static void a_place_beneath_a_shared_folder_does_not_lead_out(void)
{
	struct tree_walk_setup walk = { .put = put };
	struct tree_unpack_setup setup = { .owner = TREE_OWNER_SAME,
					   .limits = { 1000, 1u << 20 } };
	struct tree_place from = { AT_FDCWD, "src/f", false };
	struct tree_unpack *unpack;

	reset();
	mkdir("share", 0755);
	mkdir("outside", 0755);
	mkdir("share/inside", 0755);
	CHECK(symlink("../outside", "share/out") == 0);
	CHECK(symlink("inside", "share/in") == 0);
	setup.place.base = open("share", O_PATH | O_DIRECTORY | O_CLOEXEC);
	setup.place.beneath = true;
	for (int i = 0; i < 2; i++) {
		setup.place.path = i ? "in" : "out";
		unpack = tree_unpack_new(&setup);
		walk.ctx = unpack;
		CHECK((tree_pack(&from, &walk, &err) == 0) == (i == 1));
		tree_unpack_free(unpack);
	}
	CHECK(is_file("share/inside/f") && access("outside/f", F_OK) < 0);
	from = (struct tree_place){ setup.place.base, "out/x", true };
	fileio_replace(AT_FDCWD, "outside/x", "secret", 6, 0644, 0, &err);
	setup.place = (struct tree_place){ AT_FDCWD, "got", false };
	unpack = tree_unpack_new(&setup);
	walk.ctx = unpack;
	CHECK(tree_pack(&from, &walk, &err) < 0);
	tree_unpack_free(unpack);
	close(from.base);
}

static void attributes_of_users_are_kept(void)
{
	char value[8] = "";

	reset();
	if (setxattr("src/f", "user.note", "yes", 3, 0) < 0)
		return;
	CHECK(copy("src/f", "copied") == 0);
	CHECK(getxattr("copied", "user.note", value, sizeof(value)) == 3 &&
	      !strcmp(value, "yes"));
}

static void an_archive_may_not_change_its_first_name(void)
{
	struct tree_unpack_setup setup = { .place = { AT_FDCWD, "dst", false },
					   .owner = TREE_OWNER_SAME,
					   .limits = { 1000, 1u << 20 } };
	struct tree_unpack *unpack;
	struct tree_walk_setup walk = { .put = put };
	struct tree_place src = { AT_FDCWD, "src/f", false };

	reset();
	mkdir("dst", 0755);
	/* a path of two names cannot be the first entry */
	unpack = tree_unpack_new(&setup);
	walk.ctx = unpack;
	CHECK(tree_walk(AT_FDCWD, "src", "a/b", &walk, &err) < 0);
	tree_unpack_free(unpack);
	CHECK(access("dst/a", F_OK) < 0);
	setup.as_it_is = true;
	unpack = tree_unpack_new(&setup);
	walk.ctx = unpack;
	CHECK(tree_walk(AT_FDCWD, "src", "a/b", &walk, &err) == 0);
	CHECK(tree_unpack_finish(unpack, &err) == 0 && is_file("dst/a/b/f"));
	tree_unpack_free(unpack);
	setup.place.path = "missing";
	unpack = tree_unpack_new(&setup);
	walk.ctx = unpack;
	CHECK(tree_pack(&src, &walk, &err) < 0);
	tree_unpack_free(unpack);
}

static void what_is_missing_is_named_as_it_was_given(void)
{
	struct tree_walk_setup walk = { .put = put, .skipped = on_skipped };
	struct tree_place place = { AT_FDCWD, "src/../src/none", false };

	reset();
	CHECK(tree_pack(&place, &walk, &err) < 0);
	CHECK(!strncmp(err.text, "src/../src/none: ", 17));
	place.path = "no/../such/none";
	CHECK(tree_pack(&place, &walk, &err) < 0);
	CHECK(!strncmp(err.text, "no/../such/none: ", 17));
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	RUN(a_folder_becomes_what_is_missing);
	RUN(a_folder_goes_into_one_that_is_there);
	RUN(a_file_goes_where_the_rules_of_cp_say);
	RUN(links_are_copied_as_links);
	RUN(devices_and_fifos_are_skipped_and_said);
	RUN(a_place_beneath_a_shared_folder_does_not_lead_out);
	RUN(attributes_of_users_are_kept);
	RUN(an_archive_may_not_change_its_first_name);
	RUN(what_is_missing_is_named_as_it_was_given);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}
