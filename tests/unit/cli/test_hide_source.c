/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hide_source.c - .bawnignore, and Read(…) of Claude's settings
 */
#include "cli/hide_source.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"

static struct error err;

/* A list of texts as one, with a space behind each; malloc'd. */
static char *flat(json_t *list)
{
	char *text = xstrdup("");
	json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		char *longer =
			xasprintf("%s%s ", text, json_string_value(value));

		free(text);
		text = longer;
	}
	json_decref(list);
	return text;
}

static bool lines(const char *text, size_t len, const char *expected)
{
	json_t *list = hide_source_lines(text, len, &err);
	AUTO_FREE char *got = list ? flat(list) : NULL;

	return expected ? got && !strcmp(got, expected) : !got;
}

static void lines_are_patterns_and_a_bad_one_has_a_number(void)
{
	static char many[4000];

	CHECK(lines("", 0, ""));
	CHECK(lines("a\n\n#c\r\nb/\r\n!d", 13, "a b/ !d "));
	CHECK(lines("a\nb\0c\n", 6, NULL) && strstr(err.text, "line 2"));
	CHECK(lines("\xff\n", 2, NULL) && strstr(err.text, "line 1"));
	memset(many, 'x', sizeof(many));
	many[0] = many[1] = '\n';
	CHECK(lines(many, 1000, NULL) == false);
	CHECK(lines(many, sizeof(many), NULL) && strstr(err.text, "line 3"));
	for (size_t i = 0; i < sizeof(many); i += 2)
		many[i] = '\n';
	CHECK(lines(many, sizeof(many), NULL) && strstr(err.text, "line 10"));
}

static bool denied(const char *text, const char *expected)
{
	json_t *list = hide_source_denied(text, strlen(text), &err);
	AUTO_FREE char *got = list ? flat(list) : NULL;

	return expected ? got && !strcmp(got, expected) : !got && err.text[0];
}

static void only_read_rules_of_permissions_deny_count(void)
{
	CHECK(denied("{}", ""));
	CHECK(denied("{\"permissions\":{\"allow\":[\"Read(x)\"]}}", ""));
	CHECK(denied("{\"permissions\":{\"deny\":[\"Read(./.env)\",\"Edit(y)\","
		     "\"Read\",\"Read()\",7,\"Read(a)b)\",\"Bash(x)\"]}}",
		     "./.env a)b "));
	CHECK(denied("{\"permissions\":{\"deny\":\"Read(x)\"}}", NULL));
	CHECK(denied("{\"permissions\":[]}", NULL));
	CHECK(denied("[]", NULL));
	CHECK(denied("{", NULL));
	CHECK(denied("", NULL));
}

static bool places(const char *path, const char *share, const char *expected)
{
	json_t *list = json_array();
	int result =
		hide_source_place(path, share, "/home/u/p", "/home/u", list);
	AUTO_FREE char *got = flat(list);

	if (result == 0 && !strcmp(got, expected))
		return true;
	printf("# %s in %s: %d %s\n", path, share, result, got);
	return false;
}

static void a_denied_path_is_placed_in_the_share(void)
{
	CHECK(places("./.env", "/home/u/p", "/.env "));
	CHECK(places(".env", "/home/u/p", "/**/.env "));
	CHECK(places("secrets/**", "/home/u/p", "/secrets/** "));
	CHECK(places("/build/", "/home/u/p", "/build/ "));
	CHECK(places("//home/u/p/x", "/home/u/p", "/x "));
	CHECK(places("~/p/x", "/home/u/p", "/x "));
	CHECK(places("~/.ssh/**", "/home/u/p", ""));
	CHECK(places("~/.ssh/**", "/home/u", "/.ssh/** "));
	CHECK(places("//home/*/p/x", "/home/u/p", "/x "));
	CHECK(places("//home/v/p/x", "/home/u/p", ""));
	CHECK(places("//**/*.pem", "/home/u/p", "/**/*.pem "));
	CHECK(places("//home/**/p/x", "/home/u/p", "/**/p/x /x "));
	CHECK(places("./sub/x", "/home/u/p/sub", "/x "));
	CHECK(places("./sub", "/home/u/p/sub", "/** "));
	CHECK(places("./sub/**", "/home/u/p/sub", "/** "));
}

static void special_letters_of_a_path_are_only_letters(void)
{
	AUTO_FREE char *text = hide_source_escape("/a*b/[c]\\?");
	json_t *list = json_array();
	AUTO_FREE char *got = NULL;

	CHECK(!strcmp(text, "/a\\*b/\\[c]\\\\\\?"));
	CHECK(hide_source_place("./x", "/a[b]", "/a[b]", "/", list) == 0);
	got = flat(list);
	CHECK(!strcmp(got, "/x "));
}

int main(void)
{
	RUN(lines_are_patterns_and_a_bad_one_has_a_number);
	RUN(only_read_rules_of_permissions_deny_count);
	RUN(a_denied_path_is_placed_in_the_share);
	RUN(special_letters_of_a_path_are_only_letters);
	return DONE();
}
