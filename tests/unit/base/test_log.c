/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log.c - unit tests of base/log.h
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tap.h"

static int sink = -1;
static char seen[65536];

/* What was written since the last call. */
static const char *written(void)
{
	ssize_t len = pread(sink, seen, sizeof(seen) - 1, 0);

	seen[len > 0 ? len : 0] = '\0';
	if (ftruncate(sink, 0) < 0 || lseek(sink, 0, SEEK_SET) < 0)
		abort();
	return seen;
}

static void line_names_process_and_sandbox(void)
{
	log_identity("bawn-supervisor", "web");
	log_info("ready in %d ms", 12);
	CHECK(strcmp(written(), "bawn-supervisor[web]: ready in 12 ms\n") == 0);
	log_identity("bawn", NULL);
	log_error("no");
	CHECK(strcmp(written(), "bawn: error: no\n") == 0);
}

static void level_decides_what_is_written(void)
{
	log_level_set(LOG_LEVEL_WARN);
	CHECK(log_enabled(LOG_LEVEL_ERROR) && !log_enabled(LOG_LEVEL_INFO));
	log_info("a");
	log_debug("b");
	log_warn("c");
	CHECK(strcmp(written(), "bawn: warning: c\n") == 0);
	log_level_set(LOG_LEVEL_TRACE);
	log_trace("d");
	CHECK(strcmp(written(), "bawn: trace: d\n") == 0);
	log_level_set(LOG_LEVEL_INFO);
}

static void foreign_text_cannot_make_a_second_line(void)
{
	log_info("%s", "x\nbawn: error: forged\x1b[0m");
	CHECK(strcmp(written(), "bawn: x\\x0abawn: error: forged\\x1b[0m\n") ==
	      0);
}

static void long_line_is_cut_and_still_a_line(void)
{
	char big[8000];
	const char *line;

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_info("%s", big);
	line = written();
	CHECK(strlen(line) < 2400 && line[strlen(line) - 1] == '\n');
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);
	memset(big, 1, sizeof(big) - 1);
	log_info("%s", big);
	line = written();
	CHECK(strlen(line) < 2400 && strstr(line, "...\n"));
}

static void timestamps_are_rfc_3339(void)
{
	const char *line;

	log_timestamps(true);
	log_info("t");
	log_timestamps(false);
	line = written();
	CHECK(strlen(line) == strlen("2024-05-01T12:00:00.123Z bawn: t\n"));
	CHECK(line[4] == '-' && line[10] == 'T' && line[19] == '.');
	CHECK(strcmp(line + 23, "Z bawn: t\n") == 0);
}

static void errno_is_preserved(void)
{
	errno = EXDEV;
	log_info("x");
	CHECK(errno == EXDEV);
	(void)written();
	log_to(-1);
	errno = EXDEV;
	log_info("x");
	CHECK(errno == EXDEV);
	log_to(sink);
}

static void limited_lines_stop_and_are_counted(void)
{
	struct log_limit limit = { 0 };
	int allowed = 0;

	for (int i = 0; i < 25; i++)
		allowed += log_allowed(&limit);
	CHECK(allowed == 10 && limit.suppressed == 15);
	CHECK(strcmp(written(), "") == 0);
	limit.window_start_ms -= 10 * 1000;
	CHECK(log_allowed(&limit));
	CHECK(strstr(written(), "15 more lines"));
	CHECK(limit.written == 1 && limit.suppressed == 0);
}

static void limited_macro_counts_each_place_on_its_own(void)
{
	int lines = 0;

	for (int i = 0; i < 20; i++) {
		log_limited(LOG_LEVEL_INFO, "one");
		log_limited(LOG_LEVEL_INFO, "two");
	}
	for (const char *pos = written(); *pos; pos++)
		lines += *pos == '\n';
	CHECK(lines == 20);
}

static void a_bounded_file_is_begun_again(void)
{
	off_t most = 0;

	CHECK(fcntl(sink, F_SETFL, O_APPEND) == 0);
	log_max(4096);
	for (int i = 0; i < 1000; i++) {
		off_t size;

		log_info("a line of some length, again and again");
		size = lseek(sink, 0, SEEK_END);
		most = size > most ? size : most;
	}
	log_max(0);
	CHECK(most > 2048 && most <= 4096);
	(void)written();
}

int main(void)
{
	sink = memfd_create("log", MFD_CLOEXEC);
	log_to(sink);
	RUN(line_names_process_and_sandbox);
	RUN(level_decides_what_is_written);
	RUN(foreign_text_cannot_make_a_second_line);
	RUN(long_line_is_cut_and_still_a_line);
	RUN(timestamps_are_rfc_3339);
	RUN(errno_is_preserved);
	RUN(limited_lines_stop_and_are_counted);
	RUN(limited_macro_counts_each_place_on_its_own);
	RUN(a_bounded_file_is_begun_again);
	return DONE();
}
