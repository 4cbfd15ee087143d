/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_url_path.c - one spelling for each path
 */
#include "wire/url_path.h"

#include "lib/tap.h"

static char out[URL_PATH_MAX + 1];

static int normalise(const char *text)
{
	return url_path_normalise(text, strlen(text), out);
}

static void spellings_become_one(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "/", "/" },
		{ "/a/b", "/a/b" },
		{ "/a/b/", "/a/b/" },
		{ "/a/b?c=/../d", "/a/b" },
		{ "/?", "/" },
		{ "/%61/%62", "/a/b" },
		{ "/%41%5A", "/AZ" },
		{ "/a%20b", "/a b" },
		{ "/A/b", "/A/b" },
		{ "//a///b//", "/a/b/" },
		{ "/a%3fb", "/a?b" },
		{ "/a%23b", "/a#b" },
		{ "/a%3Bb", "/a;b" },
		{ "/100%25", "/100%" },
		{ "/a%25zz", "/a%zz" },
		{ "/a%2", NULL },
		{ "/%c3%a4", "/\xc3\xa4" },
		{ "/\xc3\xa4", "/\xc3\xa4" },
		{ "/%F0%9F%90%B3", "/\xf0\x9f\x90\xb3" },
		{ "/...", "/..." },
		{ "/..a/b..", "/..a/b.." },
		{ "/.git/config", "/.git/config" },
		{ "/a.", "/a." },
		{ "/@scope/name", "/@scope/name" },
		{ "/a*b|c\"{}", "/a*b|c\"{}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int len = normalise(cases[i].text);

		if (!cases[i].want) {
			CHECK(len == -1);
			continue;
		}
		if (len < 0 || strcmp(out, cases[i].want))
			printf("# %s: %s\n", cases[i].text, out);
		CHECK(len == (int)strlen(cases[i].want));
		CHECK(!strcmp(out, cases[i].want));
	}
}

static void what_servers_read_differently_is_refused(void)
{
	static const char *const cases[] = {
		"",
		"a",
		"*",
		"?a",
		"http://a.com/",
		"/..",
		"/.",
		"/../a",
		"/a/..",
		"/a/../b",
		"/a/./b",
		"/./a",
		"/%2e%2e/a",
		"/a/%2E./b",
		"/a/.%2e",
		"/%2e",
		"//..//a",
		"/a%2fb",
		"/a%2Fb",
		"/..%2fa",
		"/a\\b",
		"/a%5cb",
		"/..\\a",
		"/a%00b",
		"/a%0ab",
		"/a%0d%0a",
		"/a%1f",
		"/a%7f",
		"/a\x01",
		"/a;b",
		"/a/..;/b",
		"/a;/../b",
		"/%",
		"/a%",
		"/a%g0",
		"/a%0",
		"/a%-1",
		"/%252e%252e/a",
		"/a%252fb",
		"/a%25%32%65",
		"/%c0%ae%c0%ae/",
		"/%c0%af",
		"/%e0%80%af",
		"/%ed%a0%80",
		"/%f4%90%80%80",
		"/%ff",
		"/%c3",
		"/%c3a",
		"/%80",
		"/\xc0\xaf",
		"/a%u002e",
		"/a?b%",
		NULL,
	};

	for (size_t i = 0; cases[i]; i++) {
		int len = normalise(cases[i]);

		/* The query is not ours to judge. */
		if (!strcmp(cases[i], "/a?b%")) {
			CHECK(len == 2);
			continue;
		}
		if (len != -1)
			printf("# %s: %s\n", cases[i], out);
		CHECK(len == -1 && out[0] == '\0');
	}
	CHECK(url_path_normalise("/a\0b", 4, out) == -1);
	CHECK(url_path_normalise(NULL, 0, out) == -1);
}

static void lengths_are_bounded(void)
{
	static char text[URL_PATH_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[0] = '/';
	CHECK(url_path_normalise(text, URL_PATH_MAX, out) == URL_PATH_MAX);
	CHECK(url_path_normalise(text, URL_PATH_MAX + 1, out) == -1);
}

static void nothing_is_read_behind_the_end(void)
{
	static const char text[] = "/a%20b/%c3%a4%25/%f0%9f%90%b3?x";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		(void)url_path_normalise(copy, len, out);
		free(copy);
	}
	CHECK(normalise(text) > 0);
}

int main(void)
{
	RUN(spellings_become_one);
	RUN(what_servers_read_differently_is_refused);
	RUN(lengths_are_bounded);
	RUN(nothing_is_read_behind_the_end);
	return DONE();
}
