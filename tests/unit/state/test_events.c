/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events.c - one line for each event
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/events.h"

static char scratch[] = "/tmp/bawn-test-events-XXXXXX";

static void events_are_json_lines_with_time_and_details(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
	char path[128];
	int fd = events_open(NULL);
	json_t *first;

	REQUIRE(fd >= 0);
	events_write(fd, "created", "shell-x", json_pack("{s:i}", "n", 7));
	events_write(fd, "removed", "shell-x", NULL);
	close(fd);
	snprintf(path, sizeof(path), "%s/state/events.jsonl", scratch);
	REQUIRE(fileio_read(AT_FDCWD, path, &text, NULL) == 0);
	first = json_loadb((char *)text.data, text.len, JSON_DISABLE_EOF_CHECK,
			   NULL);
	REQUIRE(first);
	CHECK(!strcmp(json_string_value(json_object_get(first, "event")),
		      "created"));
	CHECK(json_integer_value(json_object_get(first, "n")) == 7);
	CHECK(strlen(json_string_value(json_object_get(first, "time"))) == 24);
	json_decref(first);
	CHECK(text.data[text.len - 1] == '\n');
	CHECK(memchr(text.data, '\n', text.len - 1) != NULL);
}

static void a_large_file_is_moved_aside(void)
{
	char path[128], old[160];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/state/events.jsonl", scratch);
	snprintf(old, sizeof(old), "%s.old", path);
	REQUIRE(truncate(path, 1024 * 1024 + 1) == 0);
	fd = events_open(NULL);
	REQUIRE(fd >= 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 0);
	CHECK(access(old, F_OK) == 0);
	close(fd);
}

static void a_full_file_does_not_grow(void)
{
	int fd = events_open(NULL);
	struct stat st;

	REQUIRE(fd >= 0);
	REQUIRE(ftruncate(fd, 16 * 1024 * 1024 + 1) == 0);
	events_write(fd, "paused", "shell-x", NULL);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 16 * 1024 * 1024 + 1);
	close(fd);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	setenv("BAWN_HOME", scratch, 1);
	RUN(events_are_json_lines_with_time_and_details);
	RUN(a_large_file_is_moved_aside);
	RUN(a_full_file_does_not_grow);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
