/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ralph_folder.c - unit tests of loop/ralph_folder.h
 */
#include "loop/ralph_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "lib/tap.h"

static char path[] = "/tmp/bawn-test-XXXXXX";
static int workspace = -1;

static void a_file_is_written_and_read(void)
{
	struct buffer out = BUFFER_INIT(100);

	CHECK(ralph_read(workspace, RALPH_FOLDER "/" RALPH_TASKS, &out, NULL) ==
	      0);
	CHECK(ralph_write(workspace, RALPH_TASKS, "abc", 3, NULL) == 0);
	CHECK(ralph_read(workspace, RALPH_FOLDER "/" RALPH_TASKS, &out, NULL) ==
	      1);
	CHECK(out.len == 3 && !memcmp(out.data, "abc", 3));
	buffer_release(&out);
}

static void context_is_taken_once(void)
{
	struct buffer out = BUFFER_INIT(RALPH_CONTEXT_MAX);

	CHECK(ralph_take_context(workspace, &out, NULL) == 0);
	CHECK(ralph_add_context(workspace, "one", NULL) == 0);
	CHECK(ralph_add_context(workspace, "two", NULL) == 0);
	CHECK(ralph_take_context(workspace, &out, NULL) == 1);
	CHECK(!strcmp(buffer_str(&out), "one\ntwo\n"));
	buffer_release(&out);
	CHECK(ralph_take_context(workspace, &out, NULL) == 0);
	CHECK(ralph_add_context(workspace, "three", NULL) == 0);
	CHECK(ralph_clear_context(workspace, NULL) == 0);
	CHECK(ralph_clear_context(workspace, NULL) == 0);
	CHECK(ralph_take_context(workspace, &out, NULL) == 0);
	buffer_release(&out);
}

static void links_are_not_followed(void)
{
	struct buffer out = BUFFER_INIT(100);
	int folder = openat(workspace, RALPH_FOLDER, O_RDONLY | O_DIRECTORY);

	CHECK(symlinkat("/etc/passwd", folder, "link.md") == 0);
	CHECK(symlinkat("/etc", workspace, "etc") == 0);
	CHECK(ralph_read(workspace, RALPH_FOLDER "/link.md", &out, NULL) < 0);
	CHECK(ralph_read(workspace, "etc/passwd", &out, NULL) < 0);
	CHECK(ralph_read(workspace, "../../etc/passwd", &out, NULL) < 0);
	CHECK(symlinkat("/etc/hostname", folder, RALPH_CONTEXT) == 0);
	CHECK(ralph_add_context(workspace, "x", NULL) < 0);
	CHECK(ralph_take_context(workspace, &out, NULL) < 0);
	CHECK(mkfifoat(folder, "pipe.md", 0600) == 0);
	CHECK(ralph_read(workspace, RALPH_FOLDER "/pipe.md", &out, NULL) < 0);
	CHECK(out.len == 0);
	close(folder);
	buffer_release(&out);
}

static void a_file_too_long_is_refused(void)
{
	struct buffer out = BUFFER_INIT(2);

	CHECK(ralph_read(workspace, RALPH_FOLDER "/" RALPH_TASKS, &out, NULL) <
	      0);
	buffer_release(&out);
}

static void a_folder_that_is_a_link_is_refused(void)
{
	CHECK(fileio_remove_tree(workspace, RALPH_FOLDER, NULL) == 0);
	CHECK(mkdirat(workspace, "elsewhere", 0700) == 0);
	CHECK(symlinkat("elsewhere", workspace, RALPH_FOLDER) == 0);
	CHECK(ralph_folder_open(workspace, NULL) < 0);
	CHECK(ralph_write(workspace, "planted", "x", 1, NULL) < 0);
	CHECK(faccessat(workspace, "elsewhere/planted", F_OK, 0) < 0);
}

int main(void)
{
	if (!mkdtemp(path))
		return 1;
	workspace = ralph_workspace_open(path, NULL);
	RUN(a_file_is_written_and_read);
	RUN(context_is_taken_once);
	RUN(links_are_not_followed);
	RUN(a_file_too_long_is_refused);
	RUN(a_folder_that_is_a_link_is_refused);
	fileio_remove_tree(AT_FDCWD, path, NULL);
	close(workspace);
	return DONE();
}
