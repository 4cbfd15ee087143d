/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_repos.c - repositories on GitHub that a workspace belongs to
 */
#include "cli/git_repos.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"
#include "state/share_list.h"

AUTO_DEFINE(json, json_t *, json_decref)

static const char *of(const char *url)
{
	static char repo[GIT_REPO_SIZE];

	return git_repos_parse(url, repo) == 0 ? repo : "";
}

static void each_way_to_write_it_is_known(void)
{
	CHECK(!strcmp(of("https://github.com/o/n"), "o/n"));
	CHECK(!strcmp(of("https://github.com/O-1/n.x_y.git"), "O-1/n.x_y"));
	CHECK(!strcmp(of("https://github.com/o/n/"), "o/n"));
	CHECK(!strcmp(of("https://me@github.com/o/n.git"), "o/n"));
	CHECK(!strcmp(of("git@github.com:o/n.git"), "o/n"));
	CHECK(!strcmp(of("ssh://git@github.com/o/n.git"), "o/n"));
	CHECK(!strcmp(of("ssh://git@github.com:22/o/n.git"), "o/n"));
}

static void nothing_else_is(void)
{
	static const char *const none[] = {
		"",
		"o/n",
		"https://github.com/",
		"https://github.com/o",
		"https://github.com/o/",
		"https://github.com/o/n/x",
		"https://github.com/o//n",
		"https://github.com//n",
		"https://github.com/o/.git",
		"https://github.com/o/..",
		"https://github.com/o/a..b",
		"https://github.com/o/*",
		"https://github.com/*/n",
		"https://github.com/o/n**",
		"https://github.com/o/n?x",
		"https://github.com/o/%2e",
		"https://github.com/o/n x",
		"https://github.com.evil.example/o/n",
		"https://evil.example/@github.com/o/n",
		"https://evil.example/github.com/o/n",
		"http://github.com/o/n",
		"git://github.com/o/n",
		"git@github.com.evil.example:o/n",
		"evil@github.com:o/n",
		"file:///github.com/o/n",
		"ext::sh -c x https://github.com/o/n",
	};
	char url[256] = "https://github.com/o/";

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		if (*of(none[i]))
			printf("# taken: %s\n", none[i]);
		CHECK(!*of(none[i]));
	}
	memset(url + strlen(url), 'n', 101);
	CHECK(!*of(url));
}

static const char config[] = "[core]\n\turl = https://github.com/no/core\n"
			     "[remote \"origin\"]\n"
			     "\turl = https://github.com/a/one.git\n"
			     "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
			     "[remote \"other\"]\n\turl = /srv/repo\n"
			     "\tpushurl = git@github.com:b/two.git\n"
			     "[remote \"again\"]\n"
			     "\turl = https://github.com/a/one\n";

static void remotes_of_a_configuration_are_found_once(void)
{
	AUTO(json) json_t *list = json_array();
	AUTO(json) json_t *wanted = json_pack("[s, s]", "a/one", "b/two");

	git_repos_add(config, strlen(config), list);
	CHECK(json_equal(list, wanted));
}

static void a_cut_configuration_names_no_other_repository(void)
{
	for (size_t len = 0; len < strlen(config); len++) {
		AUTO(json) json_t *list = json_array();
		AUTO_FREE char *text = strndup(config, len);

		git_repos_add(text, len, list);
		CHECK(json_array_size(list) <= 4);
	}
}

static void a_configuration_behind_a_link_is_not_read(void)
{
	char top[] = "/tmp/test_git_repos.XXXXXX", path[128];
	struct share_record workspace = { .host = top, .guest = top };
	struct share_list shares = { .items = &workspace, .count = 1 };
	AUTO(json) json_t *list = NULL;

	REQUIRE(mkdtemp(top) && !chdir(top) && !mkdir(".git", 0700));
	CHECK(!fileio_replace(AT_FDCWD, ".git/config", config, strlen(config),
			      0600, 0, NULL));
	list = git_repos_of(&shares);
	CHECK(json_array_size(list) == 2);
	json_decref(list);
	CHECK(!rename(".git/config", "elsewhere"));
	text_format(path, sizeof(path), "%s/elsewhere", top);
	CHECK(!symlink(path, ".git/config"));
	list = git_repos_of(&shares);
	CHECK(json_array_size(list) == 0);
	CHECK(!fileio_remove_tree(AT_FDCWD, top, NULL));
}

int main(void)
{
	RUN(each_way_to_write_it_is_known);
	RUN(nothing_else_is);
	RUN(remotes_of_a_configuration_are_found_once);
	RUN(a_cut_configuration_names_no_other_repository);
	RUN(a_configuration_behind_a_link_is_not_read);
	return DONE();
}
