/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_environment.c - variables of a session, and the search along its PATH
 */
#include "guest/environment.h"

#include "guest/accounts.h"
#include "lib/tap.h"
#include "proto/messages.h"

static const struct account agent = { .name = "agent",
				      .home = "/home/agent",
				      .shell = "/bin/bash" };
static const struct message_strings nothing;

static bool is(const struct environment *env, const char *name,
	       const char *value)
{
	const char *found = environment_get(env, name);

	return found && !strcmp(found, value);
}

static void defaults_come_from_the_account(void)
{
	struct environment env;

	environment_build(&env, &agent, false, &nothing);
	CHECK(is(&env, "HOME", "/home/agent"));
	CHECK(is(&env, "USER", "agent") && is(&env, "LOGNAME", "agent"));
	CHECK(is(&env, "SHELL", "/bin/bash") && is(&env, "LANG", "C.UTF-8"));
	CHECK(is(&env, "PATH",
		 "/usr/local/sbin:/usr/local/bin:/usr/sbin:"
		 "/usr/bin:/sbin:/bin"));
	CHECK(!environment_get(&env, "TERM"));
	CHECK(env.vars[env.count] == NULL);
	environment_release(&env);
}

static void a_terminal_has_a_type(void)
{
	struct environment env;

	environment_build(&env, &agent, true, &nothing);
	CHECK(is(&env, "TERM", "xterm-256color"));
	environment_release(&env);
}

static void an_account_without_a_name_has_no_user(void)
{
	struct account number = { .uid = 5, .home = "/", .shell = "/bin/sh" };
	struct environment env;

	environment_build(&env, &number, false, &nothing);
	CHECK(!environment_get(&env, "USER"));
	CHECK(is(&env, "HOME", "/"));
	environment_release(&env);
}

static void the_message_goes_on_top(void)
{
	static const char texts[] = "LANG=de\0A=1\0noequals\0=x\0TERM=dumb\0"
				    "A=2\0AB=3\0EMPTY=";
	struct message_strings extra = { .count = 8,
					 .first = texts,
					 .end = texts + sizeof(texts) };
	struct environment env;
	size_t defaults;

	environment_build(&env, &agent, true, &nothing);
	defaults = env.count;
	environment_release(&env);
	environment_build(&env, &agent, true, &extra);
	CHECK(is(&env, "LANG", "de") && is(&env, "TERM", "dumb"));
	CHECK(is(&env, "A", "2") && is(&env, "AB", "3"));
	CHECK(is(&env, "EMPTY", ""));
	CHECK(env.count == defaults + 3);
	environment_release(&env);
}

static void a_path_is_searched_in_order(void)
{
	const char *path = "/a::/b/c";
	char out[64];

	REQUIRE(environment_path_next(&path, "ls", out, sizeof(out)));
	CHECK(!strcmp(out, "/a/ls"));
	REQUIRE(environment_path_next(&path, "ls", out, sizeof(out)));
	CHECK(!strcmp(out, "./ls"));
	REQUIRE(environment_path_next(&path, "ls", out, sizeof(out)));
	CHECK(!strcmp(out, "/b/c/ls"));
	CHECK(!environment_path_next(&path, "ls", out, sizeof(out)));
}

static void a_folder_that_does_not_fit_is_passed_over(void)
{
	const char *path = "/very/long/folder:/b";
	char out[8];

	REQUIRE(environment_path_next(&path, "ls", out, sizeof(out)));
	CHECK(!strcmp(out, "/b/ls"));
	path = NULL;
	CHECK(!environment_path_next(&path, "ls", out, sizeof(out)));
}

int main(void)
{
	RUN(defaults_come_from_the_account);
	RUN(a_terminal_has_a_type);
	RUN(an_account_without_a_name_has_no_user);
	RUN(the_message_goes_on_top);
	RUN(a_path_is_searched_in_order);
	RUN(a_folder_that_does_not_fit_is_passed_over);
	return DONE();
}
