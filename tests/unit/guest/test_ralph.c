/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ralph.c - `ralph` in the guest, and how it reads a state
 */
#include "guest/ralph.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "guest/flat_json.h"
#include "lib/tap.h"

static char top[] = "/tmp/bawn-ralph-XXXXXX";

static const char state[] =
	"{ \"version\": 1, \"list\": [1, {\"name\": \"x]\"}, \"}\"],\n"
	"  \"name\": \"a \\\"b\\\"\\nc\\u0041\", \"iteration\": 12,\n"
	"  \"active\": true}";

static bool finds(const char *text, const char *key, const char *expected)
{
	char out[64] = "";
	int found = flat_json_find(text, strlen(text), key, out, sizeof(out));

	return expected ? found == 0 && !strcmp(out, expected) : found < 0;
}

static void values_of_the_outermost_object_are_found(void)
{
	CHECK(finds(state, "version", "1"));
	CHECK(finds(state, "name", "a \"b\" cu0041"));
	CHECK(finds(state, "iteration", "12"));
	CHECK(finds(state, "active", "true"));
	CHECK(finds(state, "list", NULL));
	CHECK(finds(state, "other", NULL));
	CHECK(finds("[1]", "a", NULL));
	CHECK(finds("{\"a\": \"\033[2J\"}", "a", NULL) ||
	      !finds("{\"a\": \"\033[2J\"}", "a", "\033[2J"));
	CHECK(finds("{\"a\" 1}", "a", NULL));
	CHECK(finds("{\"a\": }", "a", NULL));
	CHECK(finds("{\"a\": [[[", "b", NULL));
}

static void a_state_that_is_cut_anywhere_is_no_danger(void)
{
	char out[64];

	for (size_t len = 0; len < sizeof(state); len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, state, len);
		CHECK(flat_json_find(copy, len, "active", out, sizeof(out)) ==
			      0 ||
		      len < sizeof(state) - 2);
		free(copy);
	}
}

static int ralph(const char *one, const char *two)
{
	char *argv[] = { (char *)(uintptr_t) "ralph", (char *)(uintptr_t)one,
			 (char *)(uintptr_t)two, NULL };

	return ralph_run(two ? 3 : one ? 2 : 1, argv);
}

static bool holds(const char *path, const char *text)
{
	AUTO_BUFFER struct buffer content = BUFFER_INIT(65536);

	return fileio_read(AT_FDCWD, path, &content, NULL) == 0 &&
	       buffer_str(&content) && strstr(buffer_str(&content), text);
}

static void tasks_and_words_are_left_for_the_loop(void)
{
	CHECK(ralph("--add-task", "A-1: first") == 0);
	CHECK(ralph("--add-task", "second") == 0);
	CHECK(holds(".ralph/ralph-tasks.md", "- [ ] A-1: first\n"));
	CHECK(ralph("--remove-task", "1") == 0);
	CHECK(!holds(".ralph/ralph-tasks.md", "A-1"));
	CHECK(holds(".ralph/ralph-tasks.md", "- [ ] second\n"));
	CHECK(ralph("--add-context", "look there") == 0);
	CHECK(holds(".ralph/ralph-context.md", "look there"));
	CHECK(ralph("--clear-context", NULL) == 0);
	CHECK(!holds(".ralph/ralph-context.md", "look"));
	CHECK(ralph("--status", "--tasks") == 0);
	CHECK(ralph("--list-tasks", NULL) == 0);
}

static void what_it_cannot_do_it_says(void)
{
	CHECK(ralph("do something", NULL) == 64);
	CHECK(ralph(NULL, NULL) == 64);
	CHECK(ralph("--add-task", NULL) == 64);
	CHECK(ralph("--remove-task", "9") == 125);
	CHECK(ralph("--remove-task", "x") == 125);
	CHECK(ralph("--help", NULL) == 0);
	CHECK(ralph_is_meant("/usr/local/bin/ralph") &&
	      ralph_is_meant("ralph"));
	CHECK(!ralph_is_meant("/init") && !ralph_is_meant(NULL));
}

static void links_are_not_followed(void)
{
	CHECK(fileio_remove_tree(AT_FDCWD, ".ralph", NULL) == 0);
	CHECK(mkdir("elsewhere", 0700) == 0);
	CHECK(symlink("elsewhere", ".ralph") == 0);
	CHECK(ralph("--add-task", "x") == 125);
	CHECK(access("elsewhere/ralph-tasks.md", F_OK) < 0);
}

int main(void)
{
	CHECK(mkdtemp(top) && chdir(top) == 0);
	unsetenv("WORKSPACE_DIR");
	RUN(values_of_the_outermost_object_are_found);
	RUN(a_state_that_is_cut_anywhere_is_no_danger);
	RUN(tasks_and_words_are_left_for_the_loop);
	RUN(what_it_cannot_do_it_says);
	RUN(links_are_not_followed);
	CHECK(chdir("/") == 0);
	fileio_remove_tree(AT_FDCWD, top, NULL);
	return DONE();
}
