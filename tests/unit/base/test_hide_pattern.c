/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hide_pattern.c - patterns as in .gitignore, and moves that would cheat
 */
#include "base/hide_pattern.h"

#include "lib/tap.h"

static bool hides(const char *pattern, const char *path, enum hide_kind kind)
{
	struct hide_list list = { 0 };
	bool result;

	CHECK(hide_list_add(&list, pattern) == 0);
	result = hide_list_matches(&list, path, kind);
	hide_list_release(&list);
	return result;
}

static bool holds(const char *pattern, const char *path)
{
	struct hide_list list = { 0 };
	bool result;

	CHECK(hide_list_add(&list, pattern) == 0);
	result = hide_list_holds(&list, path);
	hide_list_release(&list);
	return result;
}

static void a_bare_name_hides_at_any_depth(void)
{
	CHECK(hides(".env", ".env", HIDE_FILE));
	CHECK(hides(".env", "a/b/.env", HIDE_FILE));
	CHECK(hides(".env", "a/.env/b/c", HIDE_FILE));
	CHECK(!hides(".env", ".envrc", HIDE_FILE));
	CHECK(!hides(".env", "x.env", HIDE_FILE));
	CHECK(hides(".env", ".ENV", HIDE_FILE));
}

static void a_slash_binds_to_the_root(void)
{
	CHECK(hides("/key", "key", HIDE_FILE));
	CHECK(!hides("/key", "a/key", HIDE_FILE));
	CHECK(hides("a/key", "a/key", HIDE_FILE));
	CHECK(!hides("a/key", "b/a/key", HIDE_FILE));
}

static void stars_stay_inside_a_component(void)
{
	CHECK(hides("*.pem", "a/b.pem", HIDE_FILE));
	CHECK(hides("/a/*", "a/b", HIDE_FILE));
	CHECK(!hides("/a/*.pem", "a/b/c.pem", HIDE_FILE));
	CHECK(hides("id_?sa", "id_rsa", HIDE_FILE));
	CHECK(!hides("id_?sa", "id_sa", HIDE_FILE));
	CHECK(hides("a*b*c", "aXXbYYc", HIDE_FILE));
	CHECK(!hides("a*b*c", "aXXcYYb", HIDE_FILE));
	CHECK(hides("*", "anything", HIDE_FILE));
}

static void double_stars_cross_components(void)
{
	CHECK(hides("**/key", "key", HIDE_FILE));
	CHECK(hides("**/key", "a/b/key", HIDE_FILE));
	CHECK(hides("a/**/key", "a/key", HIDE_FILE));
	CHECK(hides("a/**/key", "a/x/y/key", HIDE_FILE));
	CHECK(!hides("a/**/key", "b/x/key", HIDE_FILE));
	CHECK(hides("a/**", "a/x", HIDE_FILE));
	CHECK(!hides("a/**", "a", HIDE_FOLDER));
}

static void sets_and_escapes(void)
{
	CHECK(hides("[a-c]x", "bx", HIDE_FILE));
	CHECK(!hides("[a-c]x", "dx", HIDE_FILE));
	CHECK(hides("[!a-c]x", "dx", HIDE_FILE));
	CHECK(hides("[]]x", "]x", HIDE_FILE));
	CHECK(hides("[x", "[x", HIDE_FILE));
	CHECK(hides("\\*x", "*x", HIDE_FILE));
	CHECK(!hides("\\*x", "yx", HIDE_FILE));
}

static void folders_only_and_made_visible(void)
{
	struct hide_list list = { 0 };

	CHECK(hides("build/", "build", HIDE_FOLDER));
	CHECK(!hides("build/", "build", HIDE_FILE));
	CHECK(hides("build/", "build/x", HIDE_FILE));
	hide_list_add(&list, "# comment");
	hide_list_add(&list, "");
	hide_list_add(&list, "*.env");
	hide_list_add(&list, "!example.env");
	CHECK(list.count == 2);
	CHECK(hide_list_matches(&list, "my.env", HIDE_FILE));
	CHECK(!hide_list_matches(&list, "example.env", HIDE_FILE));
	hide_list_release(&list);
}

static void a_folder_that_hides_by_its_place_is_known(void)
{
	CHECK(holds("/secrets/key", "secrets"));
	CHECK(!holds("/secrets/key", "other"));
	CHECK(holds("a/b/key", "a") && holds("a/b/key", "a/b"));
	CHECK(holds("**/secrets/*.key", "x/secrets"));
	CHECK(!holds("**/secrets/*.key", "x"));
	CHECK(holds("a/**/key", "a/x/y"));
	CHECK(!holds(".env", "a"));
	CHECK(!holds("*.pem", "a/b"));
}

static void limits(void)
{
	static char longest[HIDE_PATTERN_BYTES_MAX + 2];
	struct hide_list list = { 0 };

	memset(longest, 'x', sizeof(longest) - 1);
	CHECK(hide_list_add(&list, longest) < 0);
	for (size_t i = 0; i + 1 < sizeof(longest) - 1; i += 2)
		longest[i] = '/';
	longest[HIDE_PATTERN_BYTES_MAX] = '\0';
	CHECK(hide_list_add(&list, longest) < 0);
	for (int i = 0; i < HIDE_PATTERNS_MAX; i++)
		CHECK(hide_list_add(&list, "x") == 0);
	CHECK(hide_list_add(&list, "x") < 0);
	hide_list_release(&list);
}

int main(void)
{
	RUN(a_bare_name_hides_at_any_depth);
	RUN(a_slash_binds_to_the_root);
	RUN(stars_stay_inside_a_component);
	RUN(double_stars_cross_components);
	RUN(sets_and_escapes);
	RUN(folders_only_and_made_visible);
	RUN(a_folder_that_hides_by_its_place_is_known);
	RUN(limits);
	return DONE();
}
