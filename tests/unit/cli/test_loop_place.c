/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loop_place.c - unit tests of cli/loop_place.h
 */
#include "cli/loop_place.h"

#include "base/error.h"
#include "lib/tap.h"
#include "state/sandbox_record.h"

static int is(const char *agent, const char *path, const char *expected)
{
	char *name = loop_place_name(agent, path);
	int same = !strcmp(name, expected) && !sandbox_name_check(name, NULL);

	if (!same)
		printf("# %s\n", name);
	free(name);
	return same;
}

static void names_are_as_scripts_know_them(void)
{
	/* first 8 digits of sha256sum of the path */
	CHECK(is("claude", "/home/u/My App__2!",
		 "ralph-claude-my-app-2-fe0f7630"));
	CHECK(is("codex", "/", "ralph-codex-sandbox-8a5edab2"));
	CHECK(is("docker-agent", "/x/...",
		 "ralph-docker-agent-sandbox-3cf52946"));
}

static void a_long_folder_is_cut(void)
{
	char path[300] = "/", *name;

	memset(path + 1, 'a', 250);
	name = loop_place_name("claude", path);
	CHECK(strlen(name) <= SANDBOX_NAME_MAX);
	CHECK(sandbox_name_check(name, NULL) == 0);
	free(name);
}

int main(void)
{
	RUN(names_are_as_scripts_know_them);
	RUN(a_long_folder_is_cut);
	return DONE();
}
