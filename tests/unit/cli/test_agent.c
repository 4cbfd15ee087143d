/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent.c - command lines of agents
 */
#include <stdbool.h>

#include "base/own.h"
#include "cli/agent.h"
#include "lib/tap.h"

static bool is(const char *const *args, unsigned attempt, const char *expected)
{
	AUTO_FREE const char **argv = agent_argv("shell", args, attempt);
	char joined[128] = "";
	size_t len = 0;

	if (!argv)
		return !*expected;
	for (size_t i = 0; argv[i]; i++)
		len += (size_t)snprintf(joined + len, sizeof(joined) - len,
					"%s%s", i ? " " : "", argv[i]);
	if (strcmp(joined, expected))
		printf("# %s\n", joined);
	return !strcmp(joined, expected);
}

static void without_arguments_the_agent_has_its_own_flags(void)
{
	CHECK(is(NULL, 0, "bash -l"));
	CHECK(is((const char *const[]){ NULL }, 0, "bash -l"));
}

static void arguments_with_a_dash_follow_them(void)
{
	CHECK(is((const char *const[]){ "-c", "true", NULL }, 0,
		 "bash -l -c true"));
}

static void a_bare_word_replaces_the_shell(void)
{
	CHECK(is((const char *const[]){ "uname", "-s", NULL }, 0, "uname -s"));
	CHECK(is((const char *const[]){ "uname", "-s", NULL }, 1, ""));
}

static void a_template_without_bash_gets_sh(void)
{
	CHECK(is((const char *const[]){ "-c", "x", NULL }, 1,
		 "/bin/sh -l -c x"));
	CHECK(is(NULL, 2, ""));
}

static void an_unknown_agent_has_none(void)
{
	CHECK(!agent_argv("nobody", NULL, 0));
}

int main(void)
{
	RUN(without_arguments_the_agent_has_its_own_flags);
	RUN(arguments_with_a_dash_follow_them);
	RUN(a_bare_word_replaces_the_shell);
	RUN(a_template_without_bash_gets_sh);
	RUN(an_unknown_agent_has_none);
	return DONE();
}
