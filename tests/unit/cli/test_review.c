/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_review.c - a shadow and a workspace that somebody hostile wrote
 */
#include "cli/review.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/text.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-review-XXXXXX";
static char host[64], shadow[128];
static struct share_record shares[1];
static struct sandbox sandbox = { .folder = -1 };
static struct error err;

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	CHECK(fd >= 0 && fileio_write_all(fd, text, strlen(text), &err) == 0);
	close(fd);
}

static bool has(const char *folder, const char *name, const char *text)
{
	struct buffer content = BUFFER_INIT(4096);
	char path[256];
	bool same;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	same = fileio_read(AT_FDCWD, path, &content, &err) == 0 &&
	       content.len == strlen(text) &&
	       !memcmp(content.data, text, content.len);
	buffer_release(&content);
	return same;
}

static void begin(void)
{
	char path[256];

	fileio_remove_tree(AT_FDCWD, scratch, &err);
	snprintf(host, sizeof(host), "%s/work", scratch);
	snprintf(shadow, sizeof(shadow), "%s/box/files/shadow/%016llx", scratch,
		 (unsigned long long)text_hash(host));
	snprintf(path, sizeof(path), "%s/.git/hooks", shadow);
	CHECK(fileio_mkdirs(path, 0700, &err) == 0);
	CHECK(fileio_mkdirs(host, 0700, &err) == 0);
	snprintf(path, sizeof(path), "%s/outside", scratch);
	CHECK(fileio_mkdirs(path, 0700, &err) == 0);
	snprintf(path, sizeof(path), "%s/box", scratch);
	if (sandbox.folder >= 0)
		close(sandbox.folder);
	sandbox.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shares[0] = (struct share_record){ .host = host, .guest = host };
	sandbox.record.shares =
		(struct share_list){ .items = shares, .count = 1 };
}

static void link_at(const char *folder, const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK(symlink(target, path) == 0);
}

static void only_files_links_and_marks_count(void)
{
	struct review review;
	char path[256];

	begin();
	put(shadow, ".envrc", "evil");
	put(shadow, ".npmrc", "same");
	put(host, ".npmrc", "same");
	put(host, ".gdbinit", "host");
	link_at(shadow, ".vscode", "/etc");
	link_at(shadow, ".git/hooks/all", "../../../..");
	snprintf(path, sizeof(path), "%s/fifo", shadow);
	CHECK(mkfifo(path, 0600) == 0);
	snprintf(path, sizeof(path), "%s/.gdbinit", shadow);
	CHECK(mknod(path, S_IFSOCK | 0600, 0) == 0);
	snprintf(path, sizeof(path), "%s/never-was", shadow);
	CHECK(mknod(path, S_IFSOCK | 0600, 0) == 0);
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	REQUIRE(review.held_count == 4);
	CHECK(!strcmp(review.held[0].path, ".envrc") &&
	      review.held[0].change == REVIEW_ADDED);
	CHECK(!strcmp(review.held[1].path, ".gdbinit") &&
	      review.held[1].change == REVIEW_REMOVED);
	CHECK(!strcmp(review.held[2].path, ".git/hooks/all"));
	CHECK(!strcmp(review.held[3].path, ".vscode") &&
	      S_ISLNK(review.held[3].st.st_mode));
	review_release(&review);
}

static void nothing_is_written_through_a_link(void)
{
	struct review_version guest = REVIEW_VERSION_INIT;
	struct review review;
	char outside[64];

	begin();
	snprintf(outside, sizeof(outside), "%s/outside", scratch);
	put(outside, "secret", "untouched");
	put(shadow, ".git/config", "evil");
	put(shadow, ".envrc", "evil");
	link_at(host, ".git", outside);
	link_at(host, ".envrc", "../outside/secret");
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	REQUIRE(review.held_count == 2);
	/* The last one is replaced, not followed; on the way it is refused. */
	CHECK(review_read_guest(&review, &review.held[0], &guest, &err) == 0);
	CHECK(review_apply(&review, &review.held[0], &guest, &err) == 0);
	CHECK(review_apply(&review, &review.held[1], &guest, &err) < 0);
	CHECK(has(host, ".envrc", "evil"));
	CHECK(has(outside, "secret", "untouched"));
	CHECK(!has(outside, "config", "evil"));
	buffer_release(&guest.buffer);
	review_release(&review);
}

static void what_was_read_is_written_and_a_newer_version_stays(void)
{
	struct review_version guest = REVIEW_VERSION_INIT;
	struct review review;

	begin();
	put(shadow, ".envrc", "shown");
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	REQUIRE(review.held_count == 1);
	CHECK(review_read_guest(&review, &review.held[0], &guest, &err) == 0);
	put(shadow, ".envrc", "swapped");
	CHECK(review_apply(&review, &review.held[0], &guest, &err) == 0);
	CHECK(has(host, ".envrc", "shown"));
	CHECK(review_drop(&review, &review.held[0], &guest, &err) == 0);
	CHECK(has(shadow, ".envrc", "swapped"));
	CHECK(review_drop(&review, &review.held[0], NULL, &err) == 0);
	CHECK(!has(shadow, ".envrc", "swapped"));
	buffer_release(&guest.buffer);
	review_release(&review);
}

static void what_became_another_change_is_not_written(void)
{
	struct review_version guest = REVIEW_VERSION_INIT;
	struct review review;
	char path[256];

	begin();
	put(host, ".envrc", "host");
	put(shadow, ".envrc", "guest");
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	REQUIRE(review.held_count == 1);
	snprintf(path, sizeof(path), "%s/.envrc", shadow);
	CHECK(unlink(path) == 0);
	CHECK(review_read_guest(&review, &review.held[0], &guest, &err) == 0);
	CHECK(review_apply(&review, &review.held[0], &guest, &err) < 0);
	CHECK(mknod(path, S_IFSOCK | 0600, 0) == 0);
	CHECK(review_read_guest(&review, &review.held[0], &guest, &err) == 0);
	CHECK(review_apply(&review, &review.held[0], &guest, &err) < 0);
	CHECK(has(host, ".envrc", "host"));
	review_release(&review);
}

static void a_difference_is_shown_to_its_last_byte(void)
{
	static const char begin_of_file[] = "binary \001\n";
	struct review_version guest = REVIEW_VERSION_INIT;
	struct review_version none = REVIEW_VERSION_INIT;
	struct buffer text = BUFFER_INIT(1 << 20);
	struct review review;
	char line[9000];

	begin();
	put(shadow, ".envrc", "x");
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	memset(line, ' ', sizeof(line));
	memcpy(line + sizeof(line) - 6, "rm -rf", 6);
	CHECK(review_read_guest(&review, &review.held[0], &guest, &err) == 0);
	/* with the NUL at its end */
	CHECK(buffer_append(&guest.buffer, begin_of_file,
			    sizeof(begin_of_file)) == 0 &&
	      buffer_append(&guest.buffer, line, sizeof(line)) == 0);
	CHECK(review_diff(&review, &review.held[0], &none, &guest, &text,
			  &err) == 0);
	CHECK(strstr(buffer_str(&text), "rm -rf\n") != NULL);
	CHECK(strstr(buffer_str(&text), "+xbinary \\x01\n") != NULL);
	buffer_release(&text);
	buffer_release(&guest.buffer);
	review_release(&review);
}

static void shown_names_are_plain_paths_that_are_there(void)
{
	struct review review;
	char text[512], path[256];
	const char *root = strrchr(shadow, '/') + 1;
	int fd, len;

	begin();
	put(host, "Makefile", "all:\n");
	link_at(host, "setup.py", "nowhere");
	len = snprintf(text, sizeof(text),
		       "%s/Makefile%c%s/setup.py%c%s/removed%c%s/Makefile/"
		       "x%c%s/../x%c%s//y%c%s/a/%cz/b%c%s",
		       root, 0, root, 0, root, 0, root, 0, root, 0, root, 0,
		       root, 0, 0, root);
	snprintf(path, sizeof(path), "%s/box/files/shown", scratch);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CHECK(write(fd, text, (size_t)len) == len);
	close(fd);
	REQUIRE(review_load(&sandbox, &review, &err) == 0);
	CHECK(review.held_count == 0);
	REQUIRE(review.shown_count == 2);
	CHECK(!strcmp(review.shown[0].path, "Makefile"));
	CHECK(!strcmp(review.shown[1].path, "setup.py"));
	review_release(&review);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	RUN(only_files_links_and_marks_count);
	RUN(nothing_is_written_through_a_link);
	RUN(what_was_read_is_written_and_a_newer_version_stays);
	RUN(what_became_another_change_is_not_written);
	RUN(a_difference_is_shown_to_its_last_byte);
	RUN(shown_names_are_plain_paths_that_are_there);
	fileio_remove_tree(AT_FDCWD, scratch, &err);
	return DONE();
}
