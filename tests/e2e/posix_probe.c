/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_probe.c - what builds and editors rely on, tried in a folder
 *
 * usage: posix_probe FOLDER
 * Runs in a guest, static. One line for each check: "ok NAME" or
 * "FAILED NAME line N: error"; root tries some more.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The line that did not hold; 0 = all did. */
#define MUST(expression)                 \
	do {                             \
		if (!(expression))       \
			return __LINE__; \
	} while (0)
#define FAILS(expression, code) \
	MUST((errno = 0, (expression)) < 0 && errno == (code))

static int make(const char *name, const char *text)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	ssize_t len = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return -1;
	return close(fd);
}

static int holds(const char *name, const char *text)
{
	char bytes[256] = { 0 };
	int fd = open(name, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes) - 1);

	close(fd);
	return n == (ssize_t)strlen(text) && !strcmp(bytes, text);
}

static int names_move(void)
{
	MUST(!make("a", "a") && !make("b", "b") && !rename("a", "c"));
	FAILS(access("a", F_OK), ENOENT);
	MUST(holds("c", "a") && !rename("c", "b") && holds("b", "a"));
	MUST(!make("c", "c"));
	FAILS(renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_NOREPLACE),
	      EEXIST);
	MUST(!renameat2(AT_FDCWD, "b", AT_FDCWD, "c", RENAME_EXCHANGE));
	MUST(holds("b", "c") && holds("c", "a"));
	MUST(!mkdir("d", 0755) && !mkdir("e", 0755) && !make("e/f", "f"));
	FAILS(rename("d", "e"), ENOTEMPTY);
	FAILS(rmdir("e"), ENOTEMPTY);
	MUST(!rename("e", "d") && holds("d/f", "f"));
	FAILS(rename("b", "d"), EISDIR);
	return 0;
}

static int open_files_outlive_names(void)
{
	char bytes[8] = { 0 };
	struct stat st;
	int fd;

	MUST(!make("gone", "before"));
	fd = open("gone", O_RDWR);
	MUST(fd >= 0 && !unlink("gone"));
	FAILS(access("gone", F_OK), ENOENT);
	MUST(pread(fd, bytes, 6, 0) == 6 && !strcmp(bytes, "before"));
	MUST(pwrite(fd, "after!", 6, 0) == 6 && !fsync(fd));
	MUST(pread(fd, bytes, 6, 0) == 6 && !strcmp(bytes, "after!"));
	MUST(!fstat(fd, &st) && st.st_nlink == 0 && st.st_size == 6);
	MUST(!close(fd));
	return 0;
}

static int links_work(void)
{
	char target[512];
	struct stat a, b;
	ssize_t n;

	MUST(!make("one", "1") && !link("one", "two"));
	MUST(!stat("one", &a) && !stat("two", &b));
	MUST(a.st_ino == b.st_ino && a.st_nlink == 2 && b.st_nlink == 2);
	MUST(!unlink("one") && holds("two", "1"));
	MUST(!stat("two", &b) && b.st_nlink == 1);
	MUST(!symlink("two", "soft") && holds("soft", "1"));
	n = readlink("soft", target, sizeof(target));
	MUST(n == 3 && !memcmp(target, "two", 3));
	FAILS(open("soft", O_RDONLY | O_NOFOLLOW), ELOOP);
	memset(target, 'x', 400);
	target[400] = '\0';
	MUST(!symlink(target, "dangling"));
	MUST(readlink("dangling", target, sizeof(target)) == 400);
	return 0;
}

static int appending_writers_do_not_overwrite(void)
{
	int one = open("log", O_WRONLY | O_APPEND | O_CREAT, 0644);
	int two = open("log", O_WRONLY | O_APPEND);
	struct stat st;

	MUST(one >= 0 && two >= 0);
	for (int i = 0; i < 20; i++)
		MUST(write(i % 2 ? one : two, "line\n", 5) == 5);
	MUST(!fstat(one, &st) && st.st_size == 100);
	MUST(!close(one) && !close(two));
	return 0;
}

static int exclusive_creation_has_one_winner(void)
{
	int fd = open("lock", O_WRONLY | O_CREAT | O_EXCL, 0600);
	struct stat st;

	MUST(fd >= 0 && !close(fd));
	FAILS(open("lock", O_WRONLY | O_CREAT | O_EXCL, 0600), EEXIST);
	MUST(!stat("lock", &st) && (st.st_mode & 07777) == 0600);
	return 0;
}

static int files_are_cut_and_grown(void)
{
	char bytes[12];
	struct stat st;
	int fd;

	MUST(!make("size", "0123456789"));
	fd = open("size", O_RDWR);
	MUST(fd >= 0 && !ftruncate(fd, 4) && !ftruncate(fd, 10));
	MUST(pread(fd, bytes, 10, 0) == 10);
	MUST(!memcmp(bytes, "0123\0\0\0\0\0\0", 10));
	MUST(!close(fd) && !truncate("size", 0));
	MUST(!stat("size", &st) && st.st_size == 0);
	fd = open("size", O_WRONLY | O_TRUNC);
	MUST(fd >= 0 && write(fd, "x", 1) == 1 && !close(fd));
	MUST(holds("size", "x"));
	return 0;
}

static int space_is_allocated_and_punched(void)
{
	char bytes[4096];
	struct stat st;
	int fd = open("space", O_RDWR | O_CREAT, 0644);

	MUST(fd >= 0 && !fallocate(fd, 0, 0, 65536));
	MUST(!fstat(fd, &st) && st.st_size == 65536);
	MUST(!fallocate(fd, FALLOC_FL_KEEP_SIZE, 65536, 65536));
	MUST(!fstat(fd, &st) && st.st_size == 65536);
	memset(bytes, 'x', sizeof(bytes));
	MUST(pwrite(fd, bytes, 4096, 8192) == 4096);
	MUST(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192,
			4096));
	MUST(pread(fd, bytes, 4096, 8192) == 4096);
	MUST(!bytes[0] && !memcmp(bytes, bytes + 1, 4095));
	MUST(!close(fd));
	return 0;
}

static int holes_are_found_beyond_four_gigabytes(void)
{
	off_t far = 5LL << 30;
	char bytes[8] = { 0 };
	struct stat st;
	int fd = open("sparse", O_RDWR | O_CREAT, 0644);

	MUST(fd >= 0 && pwrite(fd, "far", 3, far) == 3 && !fsync(fd));
	MUST(!fstat(fd, &st) && st.st_size == far + 3);
	MUST(st.st_blocks < 1 << 20);
	MUST(pread(fd, bytes, 3, far) == 3 && !strcmp(bytes, "far"));
	MUST(lseek(fd, 0, SEEK_DATA) > 0);
	MUST(lseek(fd, 0, SEEK_HOLE) == 0);
	MUST(lseek(fd, far, SEEK_DATA) == far);
	MUST(lseek(fd, far, SEEK_HOLE) == far + 3);
	FAILS(lseek(fd, far + 3, SEEK_DATA), ENXIO);
	MUST(!close(fd) && !unlink("sparse"));
	return 0;
}

static int shared_maps_are_files(void)
{
	char bytes[8] = { 0 };
	int fd;
	char *map;

	MUST(!make("map", "0123456789"));
	fd = open("map", O_RDWR);
	MUST(fd >= 0 && !ftruncate(fd, 12288));
	map = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(map != MAP_FAILED && !memcmp(map, "0123", 4));
	memcpy(map, "from", 4);
	memcpy(map + 8192, "map!", 4);
	MUST(!msync(map, 12288, MS_SYNC));
	MUST(pread(fd, bytes, 4, 8192) == 4 && !memcmp(bytes, "map!", 4));
	MUST(pwrite(fd, "both", 4, 4096) == 4 &&
	     !memcmp(map + 4096, "both", 4));
	memcpy(map + 4, "late", 4); /* written out by the close */
	MUST(!munmap(map, 12288) && !close(fd));
	return 0;
}

static int locks_exclude(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int status, one, two;

	MUST(!make("locks", "x"));
	one = open("locks", O_RDWR);
	two = open("locks", O_RDWR);
	MUST(one >= 0 && two >= 0 && !flock(one, LOCK_EX));
	FAILS(flock(two, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	MUST(!flock(one, LOCK_UN) && !flock(two, LOCK_EX | LOCK_NB));
	MUST(!fcntl(one, F_SETLK, &all));
	if (fork() == 0)
		_exit(fcntl(two, F_SETLK, &all) < 0 &&
				      (errno == EAGAIN || errno == EACCES)
			      ? 0
			      : 1);
	MUST(wait(&status) > 0 && status == 0);
	MUST(!close(one) && !close(two));
	return 0;
}

static int attributes_of_users_pass(void)
{
	char bytes[64] = { 0 };

	MUST(!make("attr", "x"));
	MUST(!setxattr("attr", "user.note", "value", 5, XATTR_CREATE));
	FAILS(setxattr("attr", "user.note", "value", 5, XATTR_CREATE), EEXIST);
	MUST(getxattr("attr", "user.note", bytes, sizeof(bytes)) == 5);
	MUST(!memcmp(bytes, "value", 5));
	MUST(listxattr("attr", bytes, sizeof(bytes)) == 10);
	MUST(!strcmp(bytes, "user.note"));
	MUST(!removexattr("attr", "user.note"));
	FAILS(getxattr("attr", "user.note", bytes, sizeof(bytes)), ENODATA);
	MUST(setxattr("attr", "security.capability", "x", 1, 0) < 0);
	MUST(setxattr("attr", "trusted.x", "x", 1, 0) < 0);
	return 0;
}

static int times_have_nanoseconds(void)
{
	struct timespec times[2] = { { 1000000001, 123456789 },
				     { 1500000000, 987654321 } };
	struct stat st;

	MUST(!make("times", "x") && !utimensat(AT_FDCWD, "times", times, 0));
	MUST(!stat("times", &st));
	MUST(st.st_mtim.tv_sec == 1500000000 &&
	     st.st_mtim.tv_nsec == 987654321);
	MUST(st.st_atim.tv_sec == 1000000001 &&
	     st.st_atim.tv_nsec == 123456789);
	return 0;
}

static int syncing_works_for_files_and_folders(void)
{
	int fd, folder = open(".", O_RDONLY | O_DIRECTORY);
	struct statvfs st;

	MUST(!make("synced", "x"));
	fd = open("synced", O_RDWR | O_SYNC);
	MUST(fd >= 0 && write(fd, "y", 1) == 1);
	MUST(!fsync(fd) && !fdatasync(fd) && !fsync(folder));
	MUST(!close(fd) && !close(folder));
	MUST(!statvfs(".", &st) && st.f_blocks > 0 && st.f_namemax == 255);
	return 0;
}

static int names_are_any_bytes(void)
{
	char name[257];
	struct dirent *entry;
	int found = 0;
	DIR *folder;

	MUST(!mkdir("names", 0755) && !chdir("names"));
	for (int i = 0; i < 255; i++)
		name[i] = (char)(i % 254 + 1 == '/' ? 0xff : i % 254 + 1);
	name[255] = '\0';
	MUST(!make(name, "odd"));
	folder = opendir(".");
	while (folder && (entry = readdir(folder)))
		found += !strcmp(entry->d_name, name);
	MUST(folder && !closedir(folder) && found == 1 && holds(name, "odd"));
	MUST(!unlink(name));
	memset(name, 'x', 256);
	name[256] = '\0';
	FAILS(open(name, O_WRONLY | O_CREAT, 0644), ENAMETOOLONG);
	MUST(!chdir(".."));
	return 0;
}

static int folders_can_be_emptied_while_read(void)
{
	struct dirent *entry;
	char name[32];
	int removed = 0;
	DIR *folder;

	MUST(!mkdir("many", 0755));
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		MUST(mknod(name, S_IFREG | 0644, 0) == 0);
	}
	folder = opendir("many");
	MUST(folder);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		removed += !unlinkat(dirfd(folder), entry->d_name, 0);
	}
	MUST(!closedir(folder) && removed == 120 && !rmdir("many"));
	return 0;
}

static int files_are_copied_inside(void)
{
	int from, to;
	ssize_t n;

	MUST(!make("from", "copied by the kernel"));
	from = open("from", O_RDONLY);
	to = open("to", O_WRONLY | O_CREAT, 0644);
	n = copy_file_range(from, NULL, to, NULL, 20, 0);
	MUST(n == 20 && !close(from) && !close(to));
	MUST(holds("to", "copied by the kernel"));
	return 0;
}

static int nothing_gets_set_ids_or_devices(void)
{
	struct stat st;

	MUST(!make("ids", "x"));
	if (!chmod("ids", 06755))
		MUST(!stat("ids", &st) && !(st.st_mode & 06000));
	MUST(mknod("device", S_IFCHR | 0600, makedev(1, 3)) < 0);
	MUST(!mkfifo("pipe", 0600) || errno == EPERM);
	return 0;
}

static int modes_are_kept(void)
{
	struct stat st;

	MUST(!make("mode", "x") && !chmod("mode", 0754));
	MUST(!stat("mode", &st) && (st.st_mode & 07777) == 0754);
	MUST(!mkdir("sticky", 0700) && !stat("sticky", &st));
	MUST((st.st_mode & 07777) == 0700);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} checks[] = {
#define CHECK(name)         \
	{                   \
#name, name \
	}
	CHECK(names_move),
	CHECK(open_files_outlive_names),
	CHECK(links_work),
	CHECK(appending_writers_do_not_overwrite),
	CHECK(exclusive_creation_has_one_winner),
	CHECK(files_are_cut_and_grown),
	CHECK(space_is_allocated_and_punched),
	CHECK(holes_are_found_beyond_four_gigabytes),
	CHECK(shared_maps_are_files),
	CHECK(locks_exclude),
	CHECK(attributes_of_users_pass),
	CHECK(times_have_nanoseconds),
	CHECK(syncing_works_for_files_and_folders),
	CHECK(names_are_any_bytes),
	CHECK(folders_can_be_emptied_while_read),
	CHECK(files_are_copied_inside),
	CHECK(nothing_gets_set_ids_or_devices),
	CHECK(modes_are_kept),
};

/*
 * Writes to one page of a mapped file and leaves it at that; when it is told
 * to, to the next one. The signals are files, kept where a restore keeps them.
 */
static int hold_a_map(const char *path, const char *signals)
{
	int fd = open(path, O_RDWR);
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd < 0 || map == MAP_FAILED || chdir(signals))
		return 2;
	memcpy(map, "old", 3);
	close(open("ready", O_CREAT | O_WRONLY, 0644));
	while (access("go", F_OK))
		usleep(20000);
	memcpy(map + 4096, "new", 3);
	if (msync(map, 8192, MS_SYNC))
		return 2;
	close(open("done", O_CREAT | O_WRONLY, 0644));
	return 0;
}

int main(int argc, char **argv)
{
	char start[4096];
	int failed = 0;

	umask(022);
	if (argc == 4 && strcmp(argv[1], "hold") == 0)
		return hold_a_map(argv[2], argv[3]);
	if (argc != 2 || chdir(argv[1]) || !getcwd(start, sizeof(start)))
		return 2;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int line = mkdir(checks[i].name, 0755) || chdir(checks[i].name)
				   ? __LINE__
				   : checks[i].run();

		if (line)
			printf("FAILED %s line %d: %s\n", checks[i].name, line,
			       strerror(errno));
		else
			printf("ok %s\n", checks[i].name);
		failed += line != 0;
		if (chdir(start))
			return 2;
	}
	return failed != 0;
}
