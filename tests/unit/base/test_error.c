/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_error.c - unit tests of base/error.h
 */
#include "base/error.h"

#include <errno.h>

#include "lib/tap.h"

static void error_without_code_is_only_the_text(void)
{
	struct error err = { .code = 5 };

	CHECK(error_set(&err, 0, "bad %s", "name") == -1);
	CHECK(err.code == 0);
	CHECK(strcmp(err.text, "bad name") == 0);
}

static void error_with_code_ends_with_its_words(void)
{
	struct error err;

	CHECK(error_set(&err, ENOENT, "%s", "/x.img") == -1);
	CHECK(err.code == ENOENT);
	CHECK(strcmp(err.text, "/x.img: No such file or directory") == 0);
}

static void prefix_goes_in_front_and_keeps_the_code(void)
{
	struct error err;

	(void)error_set(&err, EACCES, "/x");
	CHECK(error_prefix(&err, "root %s", "disk") == -1);
	CHECK(err.code == EACCES);
	CHECK(strcmp(err.text, "root disk: /x: Permission denied") == 0);
}

static void error_may_be_null(void)
{
	CHECK(error_set(NULL, 1, "x") == -1);
	CHECK(error_prefix(NULL, "x") == -1);
}

static void long_text_is_cut_and_terminated(void)
{
	struct error err;
	char big[2000];

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	(void)error_set(&err, ENOENT, "%s", big);
	CHECK(strlen(err.text) == sizeof(err.text) - 1);
	(void)error_set(&err, 0, "tail");
	(void)error_prefix(&err, "%s", big);
	CHECK(strlen(err.text) == sizeof(err.text) - 1);
	/* One byte of room behind the text: no strerror, no overflow. */
	big[sizeof(err.text) - 2] = '\0';
	(void)error_set(&err, ENOENT, "%s", big);
	CHECK(strlen(err.text) == sizeof(err.text) - 1);
}

static void argument_may_point_into_the_error(void)
{
	struct error err;

	(void)error_set(&err, 0, "inner");
	(void)error_set(&err, 0, "outer (%s)", err.text);
	CHECK(strcmp(err.text, "outer (inner)") == 0);
	(void)error_prefix(&err, "again %s", err.text);
	CHECK(strcmp(err.text, "again outer (inner): outer (inner)") == 0);
}

static void error_say_has_a_code_and_only_the_text(void)
{
	struct error err;

	CHECK(error_say(&err, ENOENT, "there is no %s", "x") == -1);
	CHECK(err.code == ENOENT);
	CHECK(strcmp(err.text, "there is no x") == 0);
	CHECK(error_say(NULL, ENOENT, "x") == -1);
}

static void errno_is_preserved(void)
{
	struct error err;

	errno = EPIPE;
	(void)error_say(&err, 99999, "x");
	(void)error_set(&err, 99999, "x");
	(void)error_prefix(&err, "y");
	CHECK(errno == EPIPE);
}

int main(void)
{
	RUN(error_without_code_is_only_the_text);
	RUN(error_with_code_ends_with_its_words);
	RUN(prefix_goes_in_front_and_keeps_the_code);
	RUN(error_may_be_null);
	RUN(long_text_is_cut_and_terminated);
	RUN(argument_may_point_into_the_error);
	RUN(error_say_has_a_code_and_only_the_text);
	RUN(errno_is_preserved);
	return DONE();
}
