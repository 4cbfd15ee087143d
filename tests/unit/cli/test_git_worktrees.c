/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_worktrees.c - what git keeps for work trees that are not shared
 */
#include "cli/git_worktrees.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/share_list.h"

static char scratch[] = "/tmp/bawn-test-trees-XXXXXX";

static void add_tree(const char *git, const char *name, const char *gitdir)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/worktrees/%s", git, name);
	CHECK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/worktrees/%s/gitdir", git, name);
	CHECK(fileio_replace(AT_FDCWD, path, gitdir, strlen(gitdir), 0600, 0,
			     NULL) == 0);
}

static bool has(json_t *held, const char *pattern)
{
	json_t *line;
	size_t i;

	json_array_foreach(held, i, line)
	{
		if (!strcmp(json_string_value(line), pattern))
			return true;
	}
	return false;
}

static json_t *held_in(const char *first, const char *second)
{
	struct share_list shares = { 0 };
	json_t *held = json_pack("[s]", "!.git/**/HEAD");
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", scratch, first);
	share_list_add(&shares,
		       &(struct share_record){ .host = path, .guest = path });
	if (second) {
		snprintf(path, sizeof(path), "%s/%s", scratch, second);
		share_list_add(&shares, &(struct share_record){
						.host = path, .guest = path });
	}
	git_worktrees_add(&shares, held);
	share_list_release(&shares);
	return held;
}

static void trees_that_are_not_shared_are_held(void)
{
	json_t *held = held_in("main", NULL);

	CHECK(has(held, "/.git/worktrees/other/**"));
	CHECK(has(held, "/.git/worktrees/relative/**"));
	CHECK(has(held, "/.git/worktrees/st\\*r/**"));
	CHECK(!has(held, "/.git/worktrees/within/**"));
	CHECK(!has(held, "/.git/worktrees/broken/**"));
	/* behind what frees HEAD */
	CHECK(json_array_size(held) == 4);
	CHECK(has(held, "!.git/**/HEAD") &&
	      json_string_value(json_array_get(held, 0))[0] == '!');
	json_decref(held);
}

static void the_work_tree_that_is_shared_is_free(void)
{
	json_t *held = held_in("other", "main/.git");

	CHECK(!has(held, "/worktrees/other/**"));
	CHECK(has(held, "/worktrees/relative/**"));
	json_decref(held);
}

static void there_is_an_end(void)
{
	json_t *held;
	char name[32];

	for (int i = 0; i < GIT_WORKTREES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		add_tree("main/.git", name, "/nowhere/.git\n");
	}
	held = held_in("main", NULL);
	CHECK(json_array_size(held) == 1 + GIT_WORKTREES_MAX);
	json_decref(held);
}

int main(void)
{
	char path[200];

	CHECK(mkdtemp(scratch) && chdir(scratch) == 0);
	CHECK(mkdir("main", 0700) == 0 && mkdir("main/.git", 0700) == 0);
	CHECK(mkdir("main/.git/worktrees", 0700) == 0);
	snprintf(path, sizeof(path), "%s/other/.git\n", scratch);
	add_tree("main/.git", "other", path);
	snprintf(path, sizeof(path), "%s/main/inner/.git\n", scratch);
	add_tree("main/.git", "within", path);
	add_tree("main/.git", "relative", "../../../../else/.git\n");
	add_tree("main/.git", "st*r", "/nowhere/.git\n");
	add_tree("main/.git", "broken", "two\nlines\n");
	RUN(trees_that_are_not_shared_are_held);
	RUN(the_work_tree_that_is_shared_is_free);
	RUN(there_is_an_end);
	CHECK(chdir("/") == 0 &&
	      fileio_remove_tree(AT_FDCWD, scratch, NULL) == 0);
	return DONE();
}
