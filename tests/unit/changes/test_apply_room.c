/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_apply_room.c - changes for a disk that is full, or becomes so
 *
 * The disk is a small one of its own, in namespaces of its own; where these
 * cannot be made there is nothing to try.
 */
#include "changes/apply_room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hide_pattern.h"
#include "base/own.h"
#include "changes/apply_hold.h"
#include "changes/base_file.h"
#include "changes/change_apply.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "lib/tap.h"
#include "tar/tar_write.h"

#define PART (400u * 1024)

static char top[] = "/tmp/apply-room-XXXXXX";
static char bytes[PART];
static int root = -1;
static struct error err;
static struct buffer archive;
static struct change_set set;
static struct base_list base;
static struct hide_list hide;
static struct change_list list;
static struct apply_hold hold;

static int collect(void *ctx, const struct base_record *record)
{
	base_list_add(ctx, record);
	return 0;
}

static void note_base(void)
{
	AUTO_CLOSE int fd = memfd_create("base", MFD_CLOEXEC);

	CHECK(base_scan(root, fd, &err) == 0);
	CHECK(base_each(fd, collect, &base, &err) == 0);
	base_list_sort(&base);
}

static int put_host(const char *path, size_t len)
{
	int fd = openat(root, path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);

	CHECK(write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

/* A megabyte that holds "old", as large as a part, and "gone". */
static void begin(const char *options)
{
	REQUIRE(mount("small", top, "tmpfs", 0, options) == 0);
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(bytes, 'x', sizeof(bytes));
	close(put_host("old", PART));
	close(put_host("gone", 1));
	note_base();
	buffer_init(&archive, 4u << 20);
	set = CHANGE_SET_INIT;
	hold = APPLY_HOLD_INIT;
	err = (struct error){ 0 };
}

static void add(const char *path, mode_t mode, size_t len)
{
	static const char zeroes[TAR_BLOCK];
	struct tar_entry entry = { .path = path, .mode = mode, .size = len };

	CHECK(tar_write_entry(&entry, &archive) == 0);
	buffer_append(&archive, bytes, len);
	buffer_append(&archive, zeroes, tar_padding(len));
}

static void add_deleted(const char *path)
{
	struct tar_entry entry = { .path = path,
				   .mode = S_IFREG,
				   .note = TAR_NOTE_DELETED };

	CHECK(tar_write_entry(&entry, &archive) == 0);
}

static void load(void)
{
	struct change_context context = {
		.set = &set, .root = root, .base = &base, .hide = &hide
	};
	int fd = memfd_create("set", MFD_CLOEXEC);

	tar_write_end(&archive);
	CHECK(write(fd, archive.data, archive.len) == (ssize_t)archive.len);
	REQUIRE(change_set_load(&set, fd, &err) == 0);
	REQUIRE(change_list_make(&context, &list, &err) == 0);
}

static struct apply_setup setup(void)
{
	return (struct apply_setup){ .set = &set, .root = root, .hold = &hold };
}

static int check(void)
{
	struct apply_setup one = setup();

	return apply_room_check(&one, &list, &err);
}

static int apply(void)
{
	struct apply_setup one = setup();

	return change_apply(&one, &list, &err);
}

static void end(void)
{
	apply_hold_release(&hold);
	change_list_release(&list);
	change_set_release(&set);
	base_list_release(&base);
	buffer_release(&archive);
	close(root);
	CHECK(umount(top) == 0);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -1
								 : st.st_size;
}

static unsigned count_names(void)
{
	DIR *dir = opendir(top);
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

/* Somebody else, who takes all that there is. */
static void fill(void)
{
	AUTO_CLOSE int fd =
		openat(root, "fill", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	while (write(fd, bytes, 4096) == 4096)
		continue;
	CHECK(errno == ENOSPC);
}

static void room_that_was_there_is_not_taken_by_others(void)
{
	begin("size=1M");
	add("old", S_IFREG | 0755, PART - 1);
	add("other", S_IFREG | 0644, PART - 1);
	load();
	REQUIRE(list.count == 2);
	CHECK(check() == 0);
	fill();
	CHECK(apply() == 0);
	CHECK(size_of("old") == PART - 1 && size_of("other") == PART - 1);
	end();
}

static void without_room_it_ends_there_and_can_be_repeated(void)
{
	int open_file;

	begin("size=1M");
	/* whoever has a file open keeps its room */
	open_file = openat(root, "old", O_RDONLY | O_CLOEXEC);
	add("another", S_IFREG | 0644, 1);
	add_deleted("gone");
	add("old", S_IFREG | 0644, PART - 1);
	add("second", S_IFREG | 0644, PART - 1);
	add("third", S_IFREG | 0644, 1);
	load();
	REQUIRE(list.count == 5 && list.changes[1].kind == CHANGE_DELETED);
	CHECK(check() == 0);
	CHECK(apply() < 0 && err.code == ENOSPC);
	CHECK(!strcmp(err.text, "second: No space left on device"));
	CHECK(size_of("old") == PART - 1 && size_of("another") == 1);
	/* neither a part, nor what comes later, nor something that is left */
	CHECK(size_of("second") < 0 && size_of("third") < 0);
	CHECK(size_of("gone") == 1 && count_names() == 3);
	close(open_file);
	CHECK(check() == 0 && apply() == 0);
	CHECK(size_of("second") == PART - 1 && size_of("third") == 1 &&
	      size_of("gone") < 0 && count_names() == 4);
	end();
}

static void files_that_cannot_be_made_are_counted_before(void)
{
	begin("size=1M,nr_inodes=8");
	for (char name[] = "a"; name[0] <= 'f'; name[0]++)
		add(name, S_IFREG | 0644, 1);
	load();
	CHECK(check() < 0 && err.code == ENOSPC);
	CHECK(strstr(err.text, "for 6 more files"));
	CHECK(strstr(err.text, "nothing was applied"));
	end();
}

static bool has_namespaces(void)
{
	if (geteuid() == 0 ? unshare(CLONE_NEWNS) < 0
			   : unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("small", top, "tmpfs", 0, "size=1M") == 0 &&
	       umount(top) == 0;
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	if (has_namespaces()) {
		RUN(room_that_was_there_is_not_taken_by_others);
		RUN(without_room_it_ends_there_and_can_be_repeated);
		RUN(files_that_cannot_be_made_are_counted_before);
	} else {
		puts("# no disk of one's own can be mounted here");
	}
	rmdir(top);
	return DONE();
}
