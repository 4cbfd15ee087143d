/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dockerfile.c - which images a Dockerfile builds on
 */
#include "oci/dockerfile.h"

#include "lib/tap.h"

static struct dockerfile_bases found;

static bool finds(const char *text, const char *first, const char *second)
{
	size_t count = first ? second ? 2 : 1 : 0;

	dockerfile_find_bases(text, strlen(text), &found);
	return found.count == count &&
	       (!first || !strcmp(found.names[0], first)) &&
	       (!second || !strcmp(found.names[1], second));
}

static void names_stand_after_from(void)
{
	CHECK(finds("FROM debian:12\nRUN x\n", "debian:12", NULL));
	CHECK(finds("# c\n\n \tfrom  --platform=linux/amd64 a/b@sha256:1 \r\n",
		    "a/b@sha256:1", NULL));
	CHECK(finds("FROM one", "one", NULL));
	CHECK(finds("FROM one\nFROM two AS x\nFROM one\n", "one", "two"));
	CHECK(finds("", NULL, NULL));
	CHECK(finds("FROM", NULL, NULL));
	CHECK(finds("FROM --platform=x\n", NULL, NULL));
}

static void what_is_no_image_is_left_out(void)
{
	CHECK(finds("FROM one AS build\nFROM Build\n", "one", NULL));
	CHECK(finds("FROM scratch\n", NULL, NULL));
	CHECK(finds("ARG B=x\nFROM $B\nFROM ${B}:1\n", NULL, NULL));
	CHECK(finds("RUN echo \\\n# no end\n FROM no\nFROM yes\n", "yes",
		    NULL));
	CHECK(finds("FROM \\\none\n", "\\", NULL));
}

static bool is_alone(const char *text)
{
	dockerfile_find_bases(text, strlen(text), &found);
	return found.alone;
}

static void a_file_may_be_one_from_and_no_more(void)
{
	CHECK(is_alone("FROM one"));
	CHECK(is_alone("# syntax=x\n\n FROM one AS last\r\n# RUN no\n\n"));
	CHECK(!is_alone(""));
	CHECK(!is_alone("# FROM one\n"));
	CHECK(!is_alone("FROM scratch\n"));
	CHECK(!is_alone("FROM $one\n"));
	CHECK(!is_alone("FROM --platform=linux/arm64 one\n"));
	CHECK(!is_alone("FROM one\nUSER root\n"));
	CHECK(!is_alone("ARG A\nFROM one\n"));
	CHECK(!is_alone("FROM one\nFROM one\n"));
	CHECK(!is_alone("FROM \\\none\n"));
	CHECK(!is_alone("FROM one \\\n AS two\n"));
}

static void limits_are_kept(void)
{
	char text[REFERENCE_TEXT_MAX + 16] = "FROM ";
	char many[DOCKERFILE_BASES_MAX * 16 + 64];
	size_t len = 0;

	memset(text + 5, 'a', REFERENCE_TEXT_MAX);
	text[5 + REFERENCE_TEXT_MAX] = '\0';
	CHECK(finds(text, NULL, NULL));
	for (int i = 0; i < DOCKERFILE_BASES_MAX + 2; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len,
					"FROM n%d\n", i);
	dockerfile_find_bases(many, len, &found);
	CHECK(found.count == DOCKERFILE_BASES_MAX);
}

static void a_file_may_end_anywhere(void)
{
	const char *text = "FROM --platform=x one AS a\nRUN y \\\n z\nFROM a\n"
			   "FROM two\n";

	for (size_t len = 0; len <= strlen(text); len++) {
		char *part = malloc(len + 1);

		memcpy(part, text, len);
		dockerfile_find_bases(part, len, &found);
		CHECK(found.count <= 2);
		free(part);
	}
}

int main(void)
{
	RUN(names_stand_after_from);
	RUN(what_is_no_image_is_left_out);
	RUN(a_file_may_be_one_from_and_no_more);
	RUN(limits_are_kept);
	RUN(a_file_may_end_anywhere);
	return DONE();
}
