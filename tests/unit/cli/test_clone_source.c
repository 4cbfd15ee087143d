/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clone_source.c - which folder clone mode shares, and what it refuses
 */
#include "cli/clone_source.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"
#include "state/share_list.h"

static char scratch[] = "/tmp/bawn-test-clone-XXXXXX";
static struct clone_source source;
static struct error err;

static char *at(const char *path)
{
	static char whole[2][PATH_MAX];
	static unsigned turn;
	char *out = whole[turn++ % 2];

	snprintf(out, PATH_MAX, "%s/%s", scratch, path);
	return out;
}

static void put(const char *path, const char *text)
{
	int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void make_git(const char *folder)
{
	char path[PATH_MAX];
	static const char *const folders[] = { "", "/refs", "/objects/info" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", at(folder), folders[i]);
		if (fileio_mkdirs(path, 0700, NULL) < 0)
			abort();
	}
	snprintf(path, sizeof(path), "%s/HEAD", folder);
	put(path, "ref: refs/heads/main\n");
}

static int look(const char *folder)
{
	char host[PATH_MAX];
	struct share_record share = { .host = host, .guest = host };

	snprintf(host, sizeof(host), "%s", at(folder));
	clone_source_release(&source);
	err = (struct error){ 0 };
	return clone_source_of(&share, &source, &err);
}

static void a_repository_shares_its_git_folder_alone(void)
{
	make_git("plain/.git");
	REQUIRE(look("plain") == 0);
	CHECK(!strcmp(source.host, at("plain/.git")));
	CHECK(!strcmp(source.origin, CLONE_ORIGIN) && !source.bare);
}

static void a_worktree_is_cloned_from_its_own_head(void)
{
	char line[2 * PATH_MAX];

	fileio_mkdirs(at("tree"), 0700, NULL);
	fileio_mkdirs(at("plain/.git/worktrees/tree"), 0700, NULL);
	snprintf(line, sizeof(line), "gitdir: %s\n",
		 at("plain/.git/worktrees/tree"));
	put("tree/.git", line);
	snprintf(line, sizeof(line), "%s\n", at("tree/.git"));
	put("plain/.git/worktrees/tree/gitdir", line);
	put("plain/.git/worktrees/tree/commondir", "../..\n");
	REQUIRE(look("tree") == 0);
	CHECK(!strcmp(source.host, at("plain/.git")));
	CHECK(!strcmp(source.origin, CLONE_ORIGIN "/worktrees/tree"));
}

static void a_git_file_that_lies_is_refused(void)
{
	char line[2 * PATH_MAX];

	fileio_mkdirs(at("liar"), 0700, NULL);
	snprintf(line, sizeof(line), "gitdir: %s\n", at("plain/.git"));
	put("liar/.git", line);
	CHECK(look("liar") < 0 && strstr(err.text, "does not know"));
}

static void a_bare_repository_is_its_own_folder(void)
{
	make_git("bare");
	REQUIRE(look("bare") == 0);
	CHECK(!strcmp(source.host, at("bare")) && source.bare);
}

static void what_is_no_repository_is_said_so(void)
{
	fileio_mkdirs(at("none"), 0700, NULL);
	CHECK(look("none") < 0 && strstr(err.text, "top folder of a git"));
	fileio_mkdirs(at("empty/.git"), 0700, NULL);
	CHECK(look("empty") < 0 && strstr(err.text, "top folder of a git"));
	fileio_mkdirs(at("plain/in/it"), 0700, NULL);
	CHECK(look("plain/in/it") < 0 && strstr(err.text, "/plain/in/it is") &&
	      text_ends(err.text, "/plain"));
}

static void a_link_for_git_is_refused(void)
{
	fileio_mkdirs(at("linked"), 0700, NULL);
	if (symlink(at("plain/.git"), at("linked/.git")) < 0)
		abort();
	CHECK(look("linked") < 0 && strstr(err.text, "is a link"));
}

static void objects_elsewhere_are_refused(void)
{
	make_git("borrower/.git");
	put("borrower/.git/objects/info/alternates", "/x\n");
	CHECK(look("borrower") < 0 && strstr(err.text, "alternates"));
}

int main(void)
{
	char real[PATH_MAX];

	if (!mkdtemp(scratch) || !realpath(scratch, real) ||
	    strcmp(real, scratch))
		return 1;
	RUN(a_repository_shares_its_git_folder_alone);
	RUN(a_worktree_is_cloned_from_its_own_head);
	RUN(a_git_file_that_lies_is_refused);
	RUN(a_bare_repository_is_its_own_folder);
	RUN(what_is_no_repository_is_said_so);
	RUN(a_link_for_git_is_refused);
	RUN(objects_elsewhere_are_refused);
	clone_source_release(&source);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
