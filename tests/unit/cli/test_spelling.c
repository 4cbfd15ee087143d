/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spelling.c - the names that this program is called by
 */
#include "base/error.h"
#include "base/own.h"
#include "cli/spelling.h"
#include "lib/tap.h"

static struct spelling_prefix prefix;
static struct error err;

#define SKIP_WORDS(...) skip((const char *const[]){ __VA_ARGS__, NULL })

/* The words before ours, or -1. */
static int skip(const char *const *argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return spelling_skip(argc, argv, &prefix, &err) < 0 ? -1 : prefix.words;
}

static void the_last_part_of_the_path_decides(void)
{
	CHECK(spelling_of("/usr/bin/bawn") == SPELLING_BAWN);
	CHECK(spelling_of("docker-sandbox") == SPELLING_DOCKER);
	CHECK(spelling_of("/a/b/docker-sandbox") == SPELLING_DOCKER);
	CHECK(spelling_of("./sbx") == SPELLING_SBX);
	CHECK(spelling_of("./ralph.sh") == SPELLING_RALPH);
	CHECK(spelling_of("ralph") == SPELLING_RALPH);
	CHECK(spelling_of("/sbx/other") == SPELLING_BAWN);
	CHECK(spelling_of("") == SPELLING_BAWN);
}

static void bawn_has_every_command(void)
{
	spelling_of("bawn");
	CHECK(spelling_has("review") && spelling_has("policy"));
	CHECK(SKIP_WORDS("sandbox", "ls") == 0);
	CHECK(!strcmp(spelling_program(), "bawn"));
}

static void each_name_has_its_own_commands(void)
{
	spelling_of("docker-sandbox");
	CHECK(spelling_has("network") && spelling_has("inspect"));
	CHECK(!spelling_has("policy") && !spelling_has("review"));
	CHECK(!spelling_has("") && !spelling_has("create exec"));
	CHECK(!spelling_has("l") && !spelling_has("lss"));
	spelling_of("sbx");
	CHECK(spelling_has("policy") && spelling_has("ports"));
	CHECK(!spelling_has("network"));
}

static void words_of_the_docker_client_are_skipped(void)
{
	spelling_of("docker-sandbox");
	CHECK(SKIP_WORDS("sandbox", "ls") == 1 && !prefix.debug);
	CHECK(SKIP_WORDS("-D", "sandbox", "ls") == 2 && prefix.debug);
	CHECK(SKIP_WORDS("-H", "tcp://x", "sandbox") == 3);
	CHECK(SKIP_WORDS("-Htcp://x", "sandbox") == 2);
	CHECK(SKIP_WORDS("--host=x", "--tlsverify", "sandbox") == 3);
	CHECK(SKIP_WORDS("--context", "sandbox", "sandbox", "ls") == 3);
	CHECK(!prefix.help);
	CHECK(SKIP_WORDS("help", "sandbox", "run") == 2 && prefix.help);
}

static void a_call_by_hand_is_a_usage_error(void)
{
	spelling_of("docker-sandbox");
	CHECK(SKIP_WORDS("ls") < 0 && strstr(err.text, "docker sandbox"));
	CHECK(SKIP_WORDS("--hostx", "sandbox") < 0);
	CHECK(SKIP_WORDS("--host") < 0);
	CHECK(spelling_skip(0, NULL, &prefix, &err) < 0);
}

int main(void)
{
	RUN(the_last_part_of_the_path_decides);
	RUN(bawn_has_every_command);
	RUN(each_name_has_its_own_commands);
	RUN(words_of_the_docker_client_are_skipped);
	RUN(a_call_by_hand_is_a_usage_error);
	return DONE();
}
