/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_template.c - which template disks are taken, and which are not
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"
#include "provision/template.h"
#include "provision/template_build.h"
#include "provision/template_manifest.h"

static char home[64];

static int open_template(void)
{
	char path[160];

	text_format(path, sizeof(path), "%s/data/templates/box", home);
	CHECK(fileio_mkdirs(path, 0700, NULL) == 0);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A template "box" whose disk is mostly a hole. */
static void make_box(void)
{
	AUTO_CLOSE int folder = open_template();
	AUTO_CLOSE int disk =
		openat(folder, TEMPLATE_DISK,
		       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct template_build build = { .name = "box",
					.disk_fd = disk,
					.id = "sha256:00",
					.source = "test" };

	REQUIRE(disk >= 0 && ftruncate(disk, 1 << 20) == 0);
	REQUIRE(pwrite(disk, "root", 4, 5000) == 4);
	REQUIRE(template_manifest_save(folder, &build, NULL) == 0);
}

static void remove_box(void)
{
	CHECK(template_remove("box", TEMPLATE_USER, NULL) == 0);
}

/* As a backup does: other inode, other time, no holes. */
static void copy_disk(void)
{
	AUTO_CLOSE int folder = open_template();
	AUTO_CLOSE int from = openat(folder, TEMPLATE_DISK, O_RDONLY);
	AUTO_CLOSE int to = openat(folder, "copy", O_RDWR | O_CREAT, 0444);
	static char bytes[1 << 20];

	REQUIRE(read(from, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
	REQUIRE(write(to, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
	REQUIRE(renameat(folder, "copy", folder, TEMPLATE_DISK) == 0);
}

static void change_disk(bool keep_times)
{
	AUTO_CLOSE int folder = open_template();
	AUTO_CLOSE int disk = -1;
	struct stat st;

	REQUIRE(fchmodat(folder, TEMPLATE_DISK, 0600, 0) == 0);
	disk = openat(folder, TEMPLATE_DISK, O_RDWR);
	REQUIRE(disk >= 0 && fstat(disk, &st) == 0);
	REQUIRE(pwrite(disk, "x", 1, 5001) == 1);
	if (keep_times) {
		struct timespec times[] = { st.st_atim, st.st_mtim };

		REQUIRE(futimens(disk, times) == 0);
	}
}

static int find_box(struct error *err)
{
	struct template template;
	int result = template_find("box", &template, err);

	if (result == 0)
		template_release(&template);
	return result;
}

static void a_template_is_found_as_it_was_made(void)
{
	struct template template;

	make_box();
	REQUIRE(template_find("box", &template, NULL) == 0);
	CHECK(!strcmp(template.id, "sha256:00"));
	CHECK(template.size_bytes == 1 << 20);
	CHECK(template_verify(&template, NULL) == 0);
	template_release(&template);
	remove_box();
}

static void a_template_from_a_backup_is_compared_and_taken(void)
{
	make_box();
	copy_disk();
	CHECK(find_box(NULL) == 0);
	/* the new inode was noted: this change is not looked for */
	change_disk(true);
	CHECK(find_box(NULL) == 0);
	remove_box();
}

static void a_changed_disk_is_never_taken(void)
{
	struct error err = { 0 };

	make_box();
	change_disk(false);
	CHECK(find_box(&err) < 0 && err.code == EBADMSG);
	CHECK(strstr(err.text, "template rm"));
	remove_box();
}

static void verify_finds_a_change_that_left_the_times(void)
{
	struct error err = { 0 };
	struct template template;

	make_box();
	change_disk(true);
	REQUIRE(template_find("box", &template, NULL) == 0);
	CHECK(template_verify(&template, &err) < 0 && err.code == EBADMSG);
	template_release(&template);
	remove_box();
}

static void a_disk_that_others_can_write_is_never_taken(void)
{
	AUTO_CLOSE int folder = open_template();
	struct error err = { 0 };

	make_box();
	REQUIRE(fchmodat(folder, TEMPLATE_DISK, 0666, 0) == 0);
	CHECK(find_box(&err) < 0 && err.code == EPERM);
	remove_box();
}

static void a_missing_template_says_where_to_look(void)
{
	struct error err = { 0 };

	CHECK(find_box(&err) < 0 && err.code == ENOENT);
	CHECK(strstr(err.text, "template ls"));
	err = (struct error){ 0 };
	CHECK(template_remove("../box", TEMPLATE_USER, &err) < 0);
	CHECK(err.code == ENOENT);
}

int main(void)
{
	text_copy(home, sizeof(home), "/tmp/bawn-template-XXXXXX");
	if (!mkdtemp(home) || setenv("BAWN_HOME", home, 1) < 0 ||
	    setenv("BAWN_SYSTEM_DIR", "/nonexistent", 1) < 0)
		return 1;
	RUN(a_template_is_found_as_it_was_made);
	RUN(a_template_from_a_backup_is_compared_and_taken);
	RUN(a_changed_disk_is_never_taken);
	RUN(verify_finds_a_change_that_left_the_times);
	RUN(a_disk_that_others_can_write_is_never_taken);
	RUN(a_missing_template_says_where_to_look);
	fileio_remove_tree(AT_FDCWD, home, NULL);
	return DONE();
}
