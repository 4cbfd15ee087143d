/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_folder.c - a worktree's repository, and `.git` files that lie
 */
#include "cli/git_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/own.h"
#include "cli/git_file.h"
#include "cli/share_parse.h"
#include "lib/tap.h"
#include "state/share_list.h"

static char scratch[] = "/tmp/bawn-test-git-XXXXXX";
static struct share_record git;

static bool is_line(const char *text, size_t len, const char *expected)
{
	AUTO_FREE char *line = git_file_line(text, len, "gitdir: ");

	return expected ? line && !strcmp(line, expected) : !line;
}

static void a_git_file_is_one_line(void)
{
	CHECK(is_line("gitdir: /a b\n", 13, "/a b"));
	CHECK(is_line("gitdir: ../x", 12, "../x"));
	CHECK(is_line("gitdir: \n", 9, NULL));
	CHECK(is_line("gitdir: ", 8, NULL));
	CHECK(is_line("gitdir:/a\n", 10, NULL));
	CHECK(is_line("gitdir: /a\n/b\n", 14, NULL));
	CHECK(is_line("gitdir: /a\0b", 12, NULL));
	CHECK(is_line("", 0, NULL));
}

static bool is_tree(const char *text, const char *expected)
{
	AUTO_FREE char *tree = git_file_worktree(text, strlen(text));

	return expected ? tree && !strcmp(tree, expected) : !tree;
}

static void a_work_tree_stands_in_the_core_section(void)
{
	CHECK(is_tree("[core]\n\tbare = false\n\tworktree = ../a b\n[x]\n",
		      "../a b"));
	CHECK(is_tree("[x]\n\tworktree = ../a\n", NULL));
	CHECK(is_tree("[core]\n\tworktree = \"a\"\n", NULL));
	CHECK(is_tree("[core]\nworktrees = a\n", NULL));
	CHECK(is_tree("[core]\nworktree =", NULL));
	CHECK(is_tree("", NULL));
}

static void put(const char *path, const char *fmt, ...)
{
	char text[PATH_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	CHECK(fileio_replace(AT_FDCWD, path, text, strlen(text), 0600, 0,
			     NULL) == 0);
}

/* The git folder of SCRATCH/tree, seen at guest; "" when there is none. */
static const char *found(const char *guest)
{
	static char host[PATH_MAX];
	char path[PATH_MAX];
	struct share_record workspace = { .host = path,
					  .guest = (char *)guest };

	share_release(&git);
	snprintf(path, sizeof(path), "%s/tree", scratch);
	if (git_folder_of(&workspace, &git) < 0)
		return "";
	snprintf(host, sizeof(host), "%s", git.host + strlen(scratch));
	return host;
}

static void a_worktree_and_its_repository_point_at_each_other(void)
{
	char guest[PATH_MAX];

	put("tree/.git", "gitdir: %s/main/.git/worktrees/t\n", scratch);
	put("main/.git/worktrees/t/gitdir", "%s/tree/.git\n", scratch);
	put("main/.git/worktrees/t/commondir", "../..\n");
	CHECK(!strcmp(found("/w"), "/main/.git") && git.added);
	CHECK(git.guest && !strcmp(git.guest, git.host));
	/* relative ones, as newer versions of git write them */
	put("tree/.git", "gitdir: ../main/.git/worktrees/t\n");
	put("main/.git/worktrees/t/gitdir", "../../../../tree/.git\n");
	snprintf(guest, sizeof(guest), "%s/tree", scratch);
	CHECK(!strcmp(found(guest), "/main/.git"));
	CHECK(git.guest && !strcmp(git.guest, git.host));
	CHECK(!strcmp(found("/w/tree"), "/main/.git"));
	CHECK(git.guest && !strcmp(git.guest, "/w/main/.git"));
}

static void a_git_file_that_lies_shares_nothing(void)
{
	/* another work tree's */
	put("main/.git/worktrees/t/gitdir", "%s/other/.git\n", scratch);
	CHECK(!strcmp(found("/w"), ""));
	put("main/.git/worktrees/t/gitdir", "%s/tree/.git\n", scratch);
	CHECK(!strcmp(found("/w"), "/main/.git"));
	/* a git folder that is no worktree's, and any other folder */
	put("tree/.git", "gitdir: %s/main/.git\n", scratch);
	CHECK(!strcmp(found("/w"), ""));
	put("tree/.git", "gitdir: /etc\n");
	CHECK(!strcmp(found("/w"), ""));
	/* the repository says that it is elsewhere */
	put("tree/.git", "gitdir: %s/main/.git/worktrees/t\n", scratch);
	put("main/.git/worktrees/t/commondir", "/etc\n");
	CHECK(!strcmp(found("/w"), ""));
	put("main/.git/worktrees/t/commondir", "../..\n");
	/* a link is no file */
	CHECK(rename("tree/.git", "tree/other") == 0);
	CHECK(symlink("other", "tree/.git") == 0);
	CHECK(!strcmp(found("/w"), ""));
	CHECK(unlink("tree/.git") == 0);
	CHECK(mkfifo("tree/.git", 0600) == 0);
	CHECK(!strcmp(found("/w"), ""));
	CHECK(unlink("tree/.git") == 0);
	CHECK(!strcmp(found("/w"), ""));
}

static void a_submodule_brings_its_own_folder(void)
{
	put("tree/.git", "gitdir: ../main/.git/modules/tree\n");
	put("main/.git/modules/tree/config",
	    "[core]\n\tworktree = ../../../../tree\n");
	CHECK(!strcmp(found("/w/tree"), "/main/.git/modules/tree"));
	CHECK(git.guest && !strcmp(git.guest, "/w/main/.git/modules/tree"));
	put("main/.git/modules/tree/config",
	    "[core]\n\tworktree = ../../../../other\n");
	CHECK(!strcmp(found("/w"), ""));
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0)
		return 1;
	fileio_mkdirs("main/.git/worktrees/t", 0700, NULL);
	fileio_mkdirs("main/.git/modules/tree", 0700, NULL);
	fileio_mkdirs("tree", 0700, NULL);
	fileio_mkdirs("other", 0700, NULL);
	RUN(a_git_file_is_one_line);
	RUN(a_work_tree_stands_in_the_core_section);
	RUN(a_worktree_and_its_repository_point_at_each_other);
	RUN(a_git_file_that_lies_shares_nothing);
	RUN(a_submodule_brings_its_own_folder);
	share_release(&git);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
