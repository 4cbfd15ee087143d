/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_identity.c - who commits inside: the user of the host's git
 */
#include "cli/git_identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

#define BOTH "user.name\nA B\0user.email\na@b.example"

static bool makes(const char *output, size_t len, const char *wanted)
{
	AUTO_FREE char *text = git_identity_text(output, len);

	return !strcmp(text, wanted);
}

#define MAKES(output, wanted) makes(output, sizeof(output), wanted)

static void name_and_address_are_taken(void)
{
	CHECK(MAKES(BOTH, "[user]\n\tname = \"A B\"\n"
			  "\temail = \"a@b.example\"\n"));
	CHECK(MAKES("user.email\na@b", "[user]\n\temail = \"a@b\"\n"));
	CHECK(makes("", 0, ""));
}

static void the_last_one_counts(void)
{
	CHECK(MAKES("user.name\nA\0user.name\nB", "[user]\n\tname = \"B\"\n"));
}

static void what_is_special_in_a_configuration_is_quoted(void)
{
	CHECK(MAKES("user.name\nA \"B\" \\ # ; C",
		    "[user]\n\tname = \"A \\\"B\\\" \\\\ # ; C\"\n"));
}

static void no_value_makes_a_line_of_its_own(void)
{
	static char longer[sizeof("user.name\n") + GIT_IDENTITY_MAX + 1];

	CHECK(MAKES("user.name\nA\n[core]\n\tpager = x", ""));
	CHECK(MAKES("user.name\n\x7f", ""));
	CHECK(MAKES("user.name\n", ""));
	CHECK(MAKES("user.names\nA", ""));
	memset(longer, 'x', sizeof(longer) - 1);
	memcpy(longer, "user.name\n", strlen("user.name\n"));
	CHECK(makes(longer, sizeof(longer), ""));
}

static void a_cut_output_gives_no_cut_value(void)
{
	for (size_t len = 0; len < sizeof(BOTH); len++) {
		AUTO_FREE char *text = git_identity_text(BOTH, len);

		CHECK(!strstr(text, "email"));
		CHECK(!strstr(text, "name") || strstr(text, "\"A B\""));
	}
}

static void only_the_own_configuration_is_asked(void)
{
	char home[] = "/tmp/test_git_identity.XXXXXX", path[128];
	AUTO_FREE char *text = NULL;
	static const char own[] = "[user]\n\tname = Own\n";
	static const char other[] = "[user]\n\temail = repository@x\n";

	if (!child_tool("git", NULL)) {
		printf("# git is not installed\n");
		return;
	}
	CHECK(mkdtemp(home) && !chdir(home) && !mkdir(".git", 0700));
	CHECK(!setenv("HOME", home, 1));
	CHECK(!setenv("GIT_CONFIG_NOSYSTEM", "1", 1));
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GIT_CONFIG_GLOBAL");
	CHECK(!fileio_replace(AT_FDCWD, ".gitconfig", own, strlen(own), 0600, 0,
			      NULL));
	CHECK(!fileio_replace(AT_FDCWD, ".git/config", other, strlen(other),
			      0600, 0, NULL));
	CHECK(!fileio_replace(AT_FDCWD, ".git/HEAD", "ref: refs/heads/x\n", 18,
			      0600, 0, NULL));
	CHECK(!mkdir(".git/objects", 0700) && !mkdir(".git/refs", 0700));
	text = git_identity_load();
	CHECK(!strcmp(text, "[user]\n\tname = \"Own\"\n"));
	text_format(path, sizeof(path), "%s", home);
	CHECK(!fileio_remove_tree(AT_FDCWD, path, NULL));
}

int main(void)
{
	RUN(name_and_address_are_taken);
	RUN(the_last_one_counts);
	RUN(what_is_special_in_a_configuration_is_quoted);
	RUN(no_value_makes_a_line_of_its_own);
	RUN(a_cut_output_gives_no_cut_value);
	RUN(only_the_own_configuration_is_asked);
	return DONE();
}
