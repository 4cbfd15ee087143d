/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_newer.c - which files changed since a moment
 */
#include "guest/newer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

static char top[] = "/tmp/bawn-newer-XXXXXX";
static int folder;

/* "now" and, with ";" after each, what is newer than `since`. */
static uint64_t list(uint64_t since, char *found, size_t size)
{
	AUTO_CLOSE int out = memfd_create("out", MFD_CLOEXEC);
	static char bytes[1 << 20];
	struct error err = { 0 };
	ssize_t len, at;

	CHECK(newer_list(folder, since, out, &err) == 0);
	len = pread(out, bytes, sizeof(bytes), 0);
	CHECK(len > 1 && !bytes[len - 1]);
	if (len < 1)
		return 0;
	found[0] = '\0';
	for (at = (ssize_t)strlen(bytes) + 1; at < len;
	     at += (ssize_t)strlen(bytes + at) + 1)
		snprintf(found + strlen(found), size - strlen(found), "%s;",
			 bytes + at);
	return strtoull(bytes, NULL, 10);
}

static void put(const char *name, const char *text)
{
	CHECK(fileio_replace(folder, name, text, strlen(text), 0600, 0, NULL) ==
	      0);
}

static uint64_t ticks(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME_COARSE, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * Two ticks of the clock that file systems use: some of them are finer than
 * that, and what was just changed may be ahead of it.
 */
static void let_time_pass(void)
{
	for (int i = 0; i < 2; i++) {
		uint64_t now = ticks();

		while (ticks() <= now)
			;
	}
}

/* A time that is after all that was done, and before what will be. */
static uint64_t now_apart(void)
{
	char found[4096];
	uint64_t now;

	let_time_pass();
	now = list(UINT64_MAX, found, sizeof(found));
	CHECK(!found[0]);
	let_time_pass();
	return now;
}

static void only_what_changed_is_told(void)
{
	char found[4096];
	uint64_t now;

	put("a", "1");
	CHECK(mkdirat(folder, "d", 0700) == 0);
	put("d/b", "1");
	CHECK(list(0, found, sizeof(found)) > 0);
	CHECK(strstr(found, "a;") && strstr(found, "d/b;"));
	now = now_apart();
	CHECK(list(now, found, sizeof(found)) > now);
	CHECK(!strcmp(found, ""));
	put("d/b", "2");
	CHECK(list(now, found, sizeof(found)) > now);
	CHECK(!strcmp(found, "d/b;"));
}

static void an_old_date_hides_nothing(void)
{
	const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
	char found[4096];
	uint64_t now = now_apart();

	CHECK(utimensat(folder, "a", old, 0) == 0);
	CHECK(list(now, found, sizeof(found)) > now);
	CHECK(!strcmp(found, "a;"));
}

static void links_are_named_and_not_followed(void)
{
	char found[4096];
	uint64_t now = now_apart();

	CHECK(symlinkat("/etc", folder, "etc") == 0);
	(void)list(now, found, sizeof(found));
	CHECK(!strcmp(found, "etc;"));
}

static void of_a_repository_commits_are_seen(void)
{
	char found[4096];
	uint64_t now = now_apart();

	CHECK(mkdirat(folder, ".git", 0700) == 0);
	CHECK(mkdirat(folder, ".git/logs", 0700) == 0);
	put(".git/index", "x");
	(void)list(now, found, sizeof(found));
	CHECK(!strcmp(found, ""));
	put(".git/logs/HEAD", "x");
	(void)list(now, found, sizeof(found));
	CHECK(!strcmp(found, ".git/logs/HEAD;"));
}

static void depth_and_number_are_bounded(void)
{
	AUTO_CLOSE int at = dup(folder);
	char found[4096], name[32];
	static char many[64 * NEWER_PATHS_MAX];
	unsigned count = 0;

	for (int i = 0; i < 100; i++) {
		int next;

		CHECK(mkdirat(at, "x", 0700) == 0);
		next = openat(at, "x", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	CHECK(fileio_replace(at, "deep", "x", 1, 0600, 0, NULL) == 0);
	(void)list(0, found, sizeof(found));
	CHECK(!strstr(found, "deep"));
	for (unsigned i = 0; i < NEWER_PATHS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put(name, "x");
	}
	(void)list(0, many, sizeof(many));
	for (const char *c = many; *c; c++)
		count += *c == ';';
	CHECK(count == NEWER_PATHS_MAX);
}

int main(void)
{
	CHECK(mkdtemp(top) != NULL);
	folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0);
	RUN(only_what_changed_is_told);
	RUN(an_old_date_hides_nothing);
	RUN(links_are_named_and_not_followed);
	RUN(of_a_repository_commits_are_seen);
	RUN(depth_and_number_are_bounded);
	fileio_remove_tree(AT_FDCWD, top, NULL);
	return DONE();
}
