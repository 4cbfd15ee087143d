/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fetch_limit.c - which git waits for us, and what it may take
 */
#include "cli/fetch_limit.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/fetch_leftover.h"
#include "lib/tap.h"

static void a_parent_is_found_behind_any_name(void)
{
	CHECK(fetch_limit_parent("12 (git) S 7 12 1 0 -1") == 7);
	CHECK(fetch_limit_parent("12 (a) R 1 (b) S 8 12 1") == 8);
	CHECK(fetch_limit_parent("12 (git) S") == -1);
	CHECK(fetch_limit_parent("12 git S 7 12") == -1);
	CHECK(fetch_limit_parent("") == -1);
}

static void the_git_that_looked_for_us_is_told_from_the_one_that_fetches(void)
{
	static const char caller[] = "git\0remote-bawn\0sandbox-x\0x";
	static const char fetch[] = "git\0fetch\0remote-bawn";

	CHECK(fetch_limit_is_caller(caller, sizeof(caller)));
	CHECK(!fetch_limit_is_caller(fetch, sizeof(fetch)));
	for (size_t len = 0; len < sizeof("git\0remote-bawn"); len++)
		CHECK(!fetch_limit_is_caller(caller, len));
}

static rlim_t data_limit(void)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_DATA, &limit);
	return limit.rlim_cur;
}

static void what_is_no_git_keeps_its_memory(void)
{
	struct error err = { 0 };
	rlim_t before = data_limit();
	int status = -1;
	pid_t child, git;

	setenv(FETCH_LIMIT_VARIABLE, "256M", 1);
	child = fork();
	if (child == 0)
		_exit(fetch_limit_set(&git, &err) == 0 && git == -1 ? 0 : 1);
	waitpid(child, &status, 0);
	CHECK(status == 0 && data_limit() == before);
}

static void what_is_no_size_is_refused(void)
{
	struct error err = { 0 };
	pid_t git;

	setenv(FETCH_LIMIT_VARIABLE, "much", 1);
	CHECK(fetch_limit_set(&git, &err) < 0);
	CHECK(strstr(err.text, "is not a size: much"));
}

static void what_git_has_not_finished_is_known_by_its_name(void)
{
	CHECK(fetch_leftover_is("/a/.git/objects/pack/tmp_pack_x"));
	CHECK(fetch_leftover_is("/a/b.git/objects/ab/tmp_obj_x"));
	CHECK(!fetch_leftover_is("/a/.git/objects/pack/pack-1.pack"));
	CHECK(!fetch_leftover_is("/a/tmp_pack_x"));
	CHECK(!fetch_leftover_is("/a/objects/tmp_pack_x/b"));
	CHECK(!fetch_leftover_is("tmp_pack_x"));
	CHECK(!fetch_leftover_is(""));
}

int main(void)
{
	RUN(a_parent_is_found_behind_any_name);
	RUN(the_git_that_looked_for_us_is_told_from_the_one_that_fetches);
	RUN(what_is_no_git_keeps_its_memory);
	RUN(what_is_no_size_is_refused);
	RUN(what_git_has_not_finished_is_known_by_its_name);
	return DONE();
}
