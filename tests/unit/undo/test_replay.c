/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - a journal that somebody forged, replayed on a scratch tree
 *
 * What an honest journal does is tested with bawn-files itself
 * (tests/component/test_files_undo.py).
 */
#include "undo/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "lib/tap.h"
#include "undo/place.h"
#include "undo/segment.h"

static char top[] = "/tmp/test-replay-XXXXXX";
static int top_fd, tree_fd, undo_fd, files_fd;
static struct error err;
static uint8_t journal[65536];
static size_t journal_len;
static size_t told[REPLAY_KINDS];

static bool dies; /* before it gives a folder its time */

int utimensat(int fd, const char *path, const struct timespec times[2],
	      int flags)
{
	struct stat st;

	if (dies && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		_exit(0);
	return (int)syscall(SYS_utimensat, fd, path, times, flags);
}

static void put(int fd, const char *name, const char *text)
{
	fileio_replace(fd, name, text, strlen(text), 0644, 0, &err);
}

static int is(int fd, const char *name, const char *text)
{
	char now[64];
	int file = openat(fd, name, O_RDONLY | O_NOFOLLOW);
	ssize_t len = file < 0 ? -1 : read(file, now, sizeof(now));

	if (file >= 0)
		close(file);
	return len == (ssize_t)strlen(text) && !memcmp(now, text, (size_t)len);
}

static void add(const struct journal_record *from)
{
	struct journal_record record = *from;

	if (!record.path)
		record.path = "";
	if (!record.text)
		record.text = "";
	journal_len += journal_encode(&record, journal + journal_len,
				      sizeof(journal) - journal_len);
}

static void begin(void)
{
	const struct journal_record share = { .type = JOURNAL_SHARE,
					      .path = "/tree" };
	int segment;

	fileio_remove_tree(top_fd, "tree", &err);
	fileio_remove_tree(top_fd, "undo", &err);
	mkdirat(top_fd, "tree", 0755);
	mkdirat(top_fd, "undo", 0700);
	mkdirat(top_fd, "undo/000001", 0700);
	mkdirat(top_fd, "undo/000001/files", 0700);
	tree_fd = openat(top_fd, "tree", O_RDONLY | O_DIRECTORY);
	undo_fd = openat(top_fd, "undo", O_RDONLY | O_DIRECTORY);
	files_fd = openat(top_fd, "undo/000001/files", O_RDONLY | O_DIRECTORY);
	segment = openat(undo_fd, "000001", O_RDONLY | O_DIRECTORY);
	segment_write(segment, SEGMENT_COMPLETE, "", &err);
	segment_write_label(segment, "run-x", 1, &err);
	close(segment);
	journal_head(journal);
	journal_len = JOURNAL_HEAD_BYTES;
	add(&share);
}

static int root_of(void *ctx, const char *path)
{
	return strcmp(path, "/tree") ? -1 : tree_fd;
}

static void tell(void *ctx, enum replay_did did, const char *path,
		 const char *more)
{
	told[did]++;
}

static int run(bool force)
{
	const struct journal_record end = { .type = JOURNAL_END };
	struct replay replay = REPLAY_INIT;
	int result;

	add(&end);
	fileio_replace(undo_fd, "000001/journal", journal, journal_len, 0600, 0,
		       &err);
	memset(told, 0, sizeof(told));
	replay.undo_fd = undo_fd;
	replay.root_of = root_of;
	replay.tell = tell;
	replay.force = force;
	result = replay_begin(&replay, &err);
	if (result == 0)
		result = replay_plan(&replay, 1, &err);
	memset(told, 0, sizeof(told));
	if (result == 0)
		result = replay_run(&replay, 1, &err);
	replay_release(&replay);
	close(tree_fd);
	close(undo_fd);
	close(files_fd);
	tree_fd = openat(top_fd, "tree", O_RDONLY | O_DIRECTORY);
	return result;
}

static void steps_are_taken_from_the_last_to_the_first(void)
{
	struct journal_record a = { .type = JOURNAL_CREATE,
				    .file = { .mode = S_IFDIR },
				    .path = "a" };
	struct journal_record b = a;

	begin();
	b.path = "a/b";
	add(&a);
	add(&b);
	mkdirat(tree_fd, "a", 0700);
	mkdirat(tree_fd, "a/b", 0700);
	CHECK(run(false) == 1);
	CHECK(told[REPLAY_REMOVED] == 2);
	CHECK(faccessat(tree_fd, "a", F_OK, 0) < 0);
}

static void a_saved_link_is_not_read(void)
{
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .number = 1,
					 .file = { .mode = S_IFREG | 0644,
						   .size = 6 },
					 .path = "back" };

	begin();
	put(top_fd, "secret", "secret");
	CHECK(symlinkat("../../../secret", files_fd, "1") == 0);
	add(&record);
	CHECK(run(true) == 0);
	CHECK(told[REPLAY_FAILED] == 1);
	CHECK(faccessat(tree_fd, "back", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
}

static void a_saved_file_of_another_size_is_refused(void)
{
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .number = 1,
					 .file = { .mode = S_IFREG | 0644,
						   .size = 6 },
					 .path = "back" };

	begin();
	put(files_fd, "1", "four");
	add(&record);
	CHECK(run(true) == 0 && told[REPLAY_FAILED] == 1);
}

static void no_set_id_bit_comes_back(void)
{
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .number = 1,
					 .file = { .mode = S_IFREG | 06755,
						   .size = 4 },
					 .path = "back" };
	struct stat st;

	begin();
	put(files_fd, "1", "four");
	CHECK(fchmodat(files_fd, "1", 06755, 0) == 0);
	add(&record);
	CHECK(run(false) == 1);
	REQUIRE(fstatat(tree_fd, "back", &st, 0) == 0);
	CHECK((st.st_mode & 07777) == 0755);
	CHECK(is(tree_fd, "back", "four"));
}

static void a_share_that_the_record_does_not_name_is_left_alone(void)
{
	struct journal_record share = { .type = JOURNAL_SHARE,
					.share = 1,
					.path = "/elsewhere" };
	struct journal_record record = { .type = JOURNAL_CREATE,
					 .share = 1,
					 .file = { .mode = S_IFDIR },
					 .path = "folder" };

	begin();
	mkdirat(tree_fd, "folder", 0700);
	add(&share);
	add(&record);
	CHECK(run(true) == 0 && told[REPLAY_CONFLICT] == 1);
	CHECK(faccessat(tree_fd, "folder", F_OK, 0) == 0);
}

static void a_link_on_the_way_is_not_followed(void)
{
	struct journal_record record = { .type = JOURNAL_REMOVE,
					 .number = 1,
					 .file = { .mode = S_IFREG | 0644,
						   .size = 4 },
					 .path = "link/back" };

	begin();
	mkdirat(top_fd, "outside", 0755);
	CHECK(symlinkat("../outside", tree_fd, "link") == 0);
	put(files_fd, "1", "four");
	add(&record);
	CHECK(run(true) == 0 && told[REPLAY_FAILED] == 1);
	CHECK(faccessat(top_fd, "outside/back", F_OK, 0) < 0);
}

static void cancelled_changes_are_not_taken_back(void)
{
	struct journal_record create = { .type = JOURNAL_CREATE,
					 .file = { .mode = S_IFDIR },
					 .path = "stays" };
	struct journal_record cancel = { .type = JOURNAL_CANCEL, .number = 1 };
	struct journal_record too_many = { .type = JOURNAL_CANCEL,
					   .number = 5 };

	begin();
	mkdirat(tree_fd, "stays", 0700);
	add(&create);
	add(&cancel);
	CHECK(run(false) == 1 && told[REPLAY_REMOVED] == 0);
	CHECK(faccessat(tree_fd, "stays", F_OK, 0) == 0);
	begin();
	add(&create);
	add(&too_many);
	CHECK(run(false) == -1);
}

static void long_paths_are_walked_in_parts(void)
{
	char path[8192] = "", *end = path;
	struct journal_record record = { .type = JOURNAL_CREATE,
					 .file = { .mode = S_IFDIR } };
	int fd;

	begin();
	fd = openat(tree_fd, ".", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 40; i++) {
		char name[201];
		int next;

		memset(name, 'a' + i % 26, 200);
		name[200] = '\0';
		mkdirat(fd, name, 0700);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
		if (end > path)
			*end++ = '/';
		memcpy(end, name, 201);
		end += 200;
	}
	close(fd);
	record.path = path;
	add(&record);
	CHECK(run(false) == 1 && told[REPLAY_REMOVED] == 1);
}

static void a_folder_has_its_time_also_after_a_crash(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000, .tv_nsec = 1 },
					 { .tv_sec = 2000, .tv_nsec = 2 } };
	struct journal_record record = { .type = JOURNAL_CHANGE,
					 .flags = JOURNAL_DATA,
					 .number = 1,
					 .path = "folder/file" };
	struct stat st = { 0 };
	pid_t child;
	int status = -1;

	begin();
	mkdirat(tree_fd, "folder", 0755);
	put(tree_fd, "folder/file", "new one");
	REQUIRE(utimensat(tree_fd, "folder", old, 0) == 0);
	REQUIRE(place_stat(tree_fd, record.path, &record.file) == 0);
	record.file.size = 3;
	put(files_fd, "1", "old");
	add(&record);
	child = fork();
	if (child == 0) {
		dies = true;
		run(true);
		_exit(1);
	}
	REQUIRE(waitpid(child, &status, 0) == child && status == 0);
	CHECK(is(tree_fd, "folder/file", "old"));
	REQUIRE(fstatat(tree_fd, "folder", &st, 0) == 0);
	CHECK(st.st_mtim.tv_sec != 2000);
	CHECK(run(true) == 1);
	CHECK(is(tree_fd, "folder/file", "old"));
	REQUIRE(fstatat(tree_fd, "folder", &st, 0) == 0);
	CHECK(st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 2);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	umask(022);
	top_fd = open(top, O_RDONLY | O_DIRECTORY);
	RUN(steps_are_taken_from_the_last_to_the_first);
	RUN(a_saved_link_is_not_read);
	RUN(a_saved_file_of_another_size_is_refused);
	RUN(no_set_id_bit_comes_back);
	RUN(a_share_that_the_record_does_not_name_is_left_alone);
	RUN(a_link_on_the_way_is_not_followed);
	RUN(cancelled_changes_are_not_taken_back);
	RUN(long_paths_are_walked_in_parts);
	RUN(a_folder_has_its_time_also_after_a_crash);
	close(tree_fd);
	fileio_remove_tree(AT_FDCWD, top, &err);
	close(top_fd);
	return DONE();
}
