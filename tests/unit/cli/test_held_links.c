/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_held_links.c - targets of links in guarded places, and what the
 * configuration of submodules names
 */
#include "cli/held_links.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/own.h"
#include "cli/git_trusts.h"
#include "lib/tap.h"
#include "state/share_list.h"

static char scratch[] = "/tmp/bawn-test-held-XXXXXX";
static struct share_list shares;

static void put(const char *path, const char *text)
{
	CHECK(fileio_replace(AT_FDCWD, path, text, strlen(text), 0600, 0,
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

static json_t *patterns(void)
{
	return json_pack("[s, s, s, s]", ".git/**/hooks/**", "*.git/hooks/**",
			 ".envrc", ".vscode/**");
}

static void what_a_held_link_leads_to_is_held(void)
{
	json_t *held = patterns();

	CHECK(symlink("../../tools/check", ".git/hooks/pre-commit") == 0);
	CHECK(symlink("../../../../../tools/sub",
		      ".git/modules/a/b/hooks/post-merge") == 0);
	CHECK(symlink("etc/environment", ".envrc") == 0);
	CHECK(symlink("etc/code", ".vscode") == 0);
	CHECK(symlink("etc/free", ".free") == 0);
	CHECK(symlink("/etc/passwd", ".git/hooks/outside") == 0);
	CHECK(symlink("nowhere", ".git/hooks/dangling") == 0);
	CHECK(symlink(".", ".git/hooks/self") == 0);
	held_links_add(&shares, held, NULL);
	CHECK(has(held, "/tools/check"));
	CHECK(has(held, "/tools/sub"));
	CHECK(has(held, "/etc/environment"));
	CHECK(has(held, "/etc/code/**"));
	CHECK(!has(held, "/etc/free"));
	CHECK(!has(held, "/etc/passwd"));
	/* In front: the user's own lines come later, and win. */
	CHECK(!strcmp(json_string_value(
			      json_array_get(held, json_array_size(held) - 1)),
		      ".vscode/**"));
	json_decref(held);
}

static void a_held_file_with_another_name_is_frozen(void)
{
	json_t *held = patterns(), *frozen = json_array();
	struct stat st = { 0 };
	json_int_t ino;

	put("tools/twice", "");
	put(".git/hooks/once", "");
	put("tools/free", "");
	CHECK(link("tools/twice", ".git/hooks/twice") == 0);
	CHECK(link("tools/free", "tools/free too") == 0);
	CHECK(stat("tools/twice", &st) == 0);
	held_links_add(&shares, held, frozen);
	CHECK(json_array_size(frozen) == 1);
	ino = json_integer_value(json_array_get(json_array_get(frozen, 0), 2));
	CHECK(ino == (json_int_t)st.st_ino);
	json_decref(frozen);
	json_decref(held);
}

static void many_links_have_an_end(void)
{
	json_t *held = patterns();
	char name[64];

	for (int i = 0; i < HELD_LINKS_MAX; i++) {
		snprintf(name, sizeof(name), "tools/t%d", i);
		put(name, "");
		snprintf(name, sizeof(name), ".git/hooks/t%d", i);
		CHECK(symlink("../../tools/check", name) == 0);
	}
	held_links_add(&shares, held, NULL);
	CHECK(json_array_size(held) == 4 + HELD_LINKS_MAX);
	json_decref(held);
}

static void the_configuration_of_a_submodule_counts(void)
{
	json_t *held = json_array();

	put(".git/modules/a/b/config", "[core]\n\tworktree = "
				       "../../../../deep/sub\n\thooksPath = "
				       "run\n");
	put(".git/modules/a/b/modules/c/config",
	    "[core]\n\tworktree = ../../../../../../deep/sub/inner\n"
	    "[core]\n\thooksPath = other\n");
	git_trusts_add(&shares, held);
	CHECK(has(held, "/deep/sub/run/**"));
	CHECK(has(held, "/deep/sub/inner/other/**"));
	json_decref(held);
}

int main(void)
{
	struct share_record share = { .host = scratch, .guest = scratch };

	unsetenv("HOME");
	if (!mkdtemp(scratch) || chdir(scratch) < 0)
		return 1;
	share_list_add(&shares, &share);
	fileio_mkdirs(".git/hooks", 0700, NULL);
	fileio_mkdirs(".git/modules/a/b/hooks", 0700, NULL);
	fileio_mkdirs(".git/modules/a/b/modules/c", 0700, NULL);
	fileio_mkdirs("deep/sub/inner", 0700, NULL);
	fileio_mkdirs("tools", 0700, NULL);
	fileio_mkdirs("etc/code", 0700, NULL);
	put("tools/check", "");
	put("tools/sub", "");
	put("etc/environment", "");
	put("etc/free", "");
	RUN(what_a_held_link_leads_to_is_held);
	RUN(the_configuration_of_a_submodule_counts);
	RUN(a_held_file_with_another_name_is_frozen);
	RUN(many_links_have_an_end);
	share_list_release(&shares);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
