/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_accounts.c - who a session runs as
 */
#include "guest/accounts.h"

#include "lib/tap.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "broken line\n"
			     "nouid:x::0::/:/bin/sh\n"
			     "\n"
			     "agent:x:1000:1000::/home/agent:/bin/zsh\n"
			     "noshell:x:7:8::/srv:\n"
			     "short:x:9:9::/s\n"
			     "1000:x:50:51::/digits:/bin/sh\n"
			     "max:x:4294967295:1::/:/bin/sh\n"
			     "last:x:60:61::/last:/bin/dash";
static const char group[] = "root:x:0:\n"
			    "sudo:x:27:other,agent\n"
			    "bad:x:y:agent\n"
			    "docker:x:999: agent ,x\n"
			    "agentx:x:5:agents,xagent\n"
			    "nomembers:x:70\n"
			    "agent:x:1000:agent";

static int resolve(const char *spec, struct account *account)
{
	struct account_files files = { slice_of(passwd), slice_of(group) };

	return account_resolve(&files, spec, account);
}

static void a_name_gives_ids_home_and_shell(void)
{
	struct account a;

	REQUIRE(resolve("agent", &a) == 0);
	CHECK(a.uid == 1000 && a.gid == 1000);
	CHECK(!strcmp(a.home, "/home/agent") && !strcmp(a.shell, "/bin/zsh"));
	CHECK(!strcmp(a.name, "agent"));
}

static void memberships_come_from_group(void)
{
	struct account a;

	REQUIRE(resolve("agent", &a) == 0);
	REQUIRE(a.group_count == 3);
	CHECK(a.groups[0] == 1000 && a.groups[1] == 27 && a.groups[2] == 999);
}

static void an_empty_spec_is_the_agent_or_root(void)
{
	struct account_files none = { { NULL, 0 }, { NULL, 0 } };
	struct account a;

	REQUIRE(resolve("", &a) == 0);
	CHECK(a.uid == 1000);
	REQUIRE(account_resolve(&none, "", &a) == 0);
	CHECK(a.uid == 0 && a.gid == 0 && !strcmp(a.name, "root"));
	CHECK(!strcmp(a.home, "/root") && !strcmp(a.shell, "/bin/sh"));
}

static void a_number_finds_its_line_or_stands_alone(void)
{
	struct account a;

	REQUIRE(resolve("7", &a) == 0);
	CHECK(a.gid == 8 && !strcmp(a.name, "noshell"));
	CHECK(!strcmp(a.shell, "/bin/sh"));
	REQUIRE(resolve("4321", &a) == 0);
	CHECK(a.uid == 4321 && a.gid == 0 && a.name[0] == '\0');
	CHECK(!strcmp(a.home, "/") && a.group_count == 1);
}

static void a_name_of_digits_wins_over_the_number(void)
{
	struct account a;

	REQUIRE(resolve("1000", &a) == 0);
	CHECK(a.uid == 50 && a.gid == 51);
}

static void a_named_group_replaces_all_groups(void)
{
	struct account a;

	REQUIRE(resolve("agent:docker", &a) == 0);
	CHECK(a.uid == 1000 && a.gid == 999 && a.group_count == 1);
	REQUIRE(resolve("0:5555", &a) == 0);
	CHECK(a.uid == 0 && a.gid == 5555 && a.groups[0] == 5555);
	REQUIRE(resolve("agent:nomembers", &a) == 0);
	CHECK(a.gid == 70);
}

static void what_is_not_there_is_refused(void)
{
	struct account a;

	CHECK(resolve("nobody", &a) == -1);
	CHECK(resolve("agent:none", &a) == -1);
	CHECK(resolve("agent:bad", &a) == -1);
	CHECK(resolve(":agent", &a) == -1);
	CHECK(resolve("agent:", &a) == -1);
	CHECK(resolve("agent:sudo:x", &a) == -1);
	CHECK(resolve("-1", &a) == -1);
	CHECK(resolve("4294967295", &a) == -1);
	CHECK(resolve("99999999999999999999", &a) == -1);
	CHECK(resolve("max", &a) == -1);
	CHECK(resolve("nouid", &a) == -1);
	CHECK(resolve("broken line", &a) == -1);
}

static void a_last_line_needs_no_newline(void)
{
	struct account a;

	REQUIRE(resolve("last", &a) == 0);
	CHECK(a.uid == 60 && !strcmp(a.shell, "/bin/dash"));
	REQUIRE(resolve("short", &a) == 0);
	CHECK(!strcmp(a.home, "/s") && !strcmp(a.shell, "/bin/sh"));
}

static void a_home_that_is_too_long_is_passed_over(void)
{
	char text[1200];
	struct account_files files = { { text, 0 }, { NULL, 0 } };
	struct account a;
	int len = snprintf(text, sizeof(text), "u:x:1:1::/%0*d:/bin/sh\n", 1000,
			   0);

	files.passwd.len = (size_t)len;
	CHECK(account_resolve(&files, "u", &a) == -1);
}

static void no_more_groups_than_there_is_room_for(void)
{
	static char text[200 * 20];
	struct account_files files = { slice_of("u:x:1:1::/:/bin/sh\n"),
				       { text, 0 } };
	struct account a;
	size_t len = 0;

	for (int i = 0; i < 200; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"g%d:x:%d:u\n", i, 100 + i);
	files.group.len = len;
	REQUIRE(account_resolve(&files, "u", &a) == 0);
	CHECK(a.group_count == ACCOUNT_GROUPS_MAX);
}

static void a_user_is_found_by_a_whole_name_only(void)
{
	CHECK(account_has(slice_of(passwd), "agent"));
	CHECK(!account_has(slice_of(passwd), "agen"));
	CHECK(!account_has(slice_of(passwd), "gent"));
	CHECK(!account_has(slice_of("agent"), "agent"));
	CHECK(!account_has((struct slice){ NULL, 0 }, "agent"));
}

static void cut_short_at_any_byte_nothing_breaks(void)
{
	for (size_t len = 0; len < sizeof(passwd); len++) {
		/* Exact copies: a read past the end is seen. */
		char *p = malloc(len ? len : 1), *g = malloc(len ? len : 1);
		size_t glen = len < sizeof(group) ? len : sizeof(group) - 1;
		struct account_files files = { { p, len }, { g, glen } };
		struct account a;

		memcpy(p, passwd, len);
		memcpy(g, group, glen);
		account_resolve(&files, "agent", &a);
		account_resolve(&files, "last:docker", &a);
		free(p);
		free(g);
	}
	CHECK(1);
}

int main(void)
{
	RUN(a_name_gives_ids_home_and_shell);
	RUN(memberships_come_from_group);
	RUN(an_empty_spec_is_the_agent_or_root);
	RUN(a_number_finds_its_line_or_stands_alone);
	RUN(a_name_of_digits_wins_over_the_number);
	RUN(a_named_group_replaces_all_groups);
	RUN(what_is_not_there_is_refused);
	RUN(a_last_line_needs_no_newline);
	RUN(a_home_that_is_too_long_is_passed_over);
	RUN(no_more_groups_than_there_is_room_for);
	RUN(a_user_is_found_by_a_whole_name_only);
	RUN(cut_short_at_any_byte_nothing_breaks);
	return DONE();
}
