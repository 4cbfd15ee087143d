/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_guard.c - the class of a path, by its names alone
 */
#include "base/guard.h"

#include <sys/stat.h>

#include "lib/tap.h"

static struct guard_list list;

static void use(const char *const *held, const char *const *shown)
{
	guard_list_release(&list);
	for (; *held; held++)
		CHECK(guard_list_add(&list, GUARD_HELD, *held) == 0);
	for (; shown && *shown; shown++)
		CHECK(guard_list_add(&list, GUARD_SHOWN, *shown) == 0);
}

#define HELD(...) use((const char *const[]){ __VA_ARGS__, NULL }, NULL)

static enum guard_class class_in(const char *share, const char *path,
				 mode_t type, bool folds)
{
	struct guard_entry entry = { .type = type, .folds_case = folds };
	const char *slash = strrchr(path, '/');
	struct guard_state state;
	char folder[256] = "";

	if (slash)
		memcpy(folder, path, (size_t)(slash - path));
	entry.name = slash ? slash + 1 : path;
	guard_enter_share(&list, share, &state);
	guard_enter_path(&list, folder, &state);
	return guard_classify(&list, &state, &entry);
}

static bool held(const char *path)
{
	return class_in("/home/u/work", path, S_IFREG, false) == GUARD_HELD;
}

static bool held_link(const char *path)
{
	return class_in("/home/u/work", path, S_IFLNK, false) == GUARD_HELD;
}

static bool bound(const char *folder, const char *name)
{
	struct guard_state state;

	guard_enter_share(&list, "/home/u/work", &state);
	guard_enter_path(&list, folder, &state);
	return guard_is_bound(&list, &state, name);
}

static void patterns_apply_at_any_depth(void)
{
	HELD(".git/hooks/**", ".envrc", "*.git/config");
	CHECK(held(".envrc") && held("a/b/.envrc"));
	CHECK(held(".git/hooks/x") && held("a/.git/hooks/b/c"));
	CHECK(held("x.git/config") && held(".git/config"));
	CHECK(!held("hooks/x") && !held(".git/hooks") && !held("git/config"));
	CHECK(!held(".envrc/x") && !held(".git/config/x"));
}

static void a_slash_in_front_means_the_shares_root(void)
{
	HELD("/githooks/**");
	CHECK(held("githooks/x") && !held("a/githooks/x"));
	CHECK(class_in("/a/githooks", "x", S_IFREG, false) == GUARD_FREE);
	CHECK(class_in("/a/githooks", "githooks/x", S_IFREG, false) ==
	      GUARD_HELD);
}

static void other_spellings_count(void)
{
	HELD(".git/config");
	CHECK(held(".GIT/Config") && held(".git./config") &&
	      held(".git/config. ."));
	CHECK(!held(".git/config.x") && !held("..git/config"));
}

static void an_exact_pattern_tells_letters_apart_where_they_are(void)
{
	HELD("=HEAD", "!.git/**/HEAD");
	CHECK(held("HEAD") && held("a/HEAD") && !held("a/head"));
	CHECK(class_in("/w", "a/head", S_IFREG, true) == GUARD_HELD);
	CHECK(!held(".git/HEAD") && !held(".git/worktrees/w/HEAD"));
}

static void the_last_match_wins(void)
{
	HELD(".git/**/config", "!.git/refs/**", ".git/config");
	CHECK(held(".git/modules/a/config") && held(".git/config"));
	CHECK(!held(".git/refs/heads/config"));
	CHECK(held(".git/refs/.git/config"));
}

static void held_wins_over_shown(void)
{
	use((const char *const[]){ ".claude/settings.json", NULL },
	    (const char *const[]){ ".claude/**", "Makefile", NULL });
	CHECK(held(".claude/settings.json"));
	CHECK(class_in("/w", ".claude/x", S_IFREG, false) == GUARD_SHOWN);
	CHECK(class_in("/w", "a/makefile", S_IFREG, false) == GUARD_SHOWN);
	CHECK(class_in("/w", "a/makefile", S_IFDIR, false) == GUARD_FREE);
	CHECK(class_in("/w", "a/other", S_IFREG, false) == GUARD_FREE);
}

static void a_link_on_the_way_is_held(void)
{
	HELD(".git/hooks/**", ".vscode/tasks.json", ".git/**/config");
	CHECK(held_link(".git") && held_link(".git/hooks"));
	CHECK(held_link(".vscode") && held_link("a/.VSCODE"));
	CHECK(held_link(".git/objects") && !held(".git/objects"));
	CHECK(!held_link("a") && !held_link(".vscode/other") &&
	      !held_link("a/hooks"));
}

static void folders_that_decide_do_not_move(void)
{
	HELD(".git/hooks/**", ".vscode/tasks.json", ".envrc", "/a/b/c");
	CHECK(bound("", ".git") && bound("x/y", ".Git") &&
	      bound(".git", "hooks") && bound("", ".vscode"));
	CHECK(bound(".git/hooks", "x") && bound("", "a") && bound("a", "b"));
	CHECK(!bound("", "src") && !bound(".vscode", "other") &&
	      !bound("x", "a") && !bound("", ".envrc"));
	CHECK(!bound(".git", "objects"));
}

static void where_a_share_lies_counts(void)
{
	HELD(".git/config", ".git/**/config", ".cursor/**");
	CHECK(class_in("/r/.git", "config", S_IFREG, false) == GUARD_HELD);
	CHECK(class_in("/r/.git/modules/m", "config", S_IFREG, false) ==
	      GUARD_HELD);
	CHECK(class_in("/h/.cursor", "x", S_IFREG, false) == GUARD_HELD);
	/* A workspace beneath a tool's folder is a workspace. */
	CHECK(class_in("/h/.cursor/worktrees/w", "x", S_IFREG, false) ==
	      GUARD_FREE);
}

static bool holds_all(const char *folder)
{
	struct guard_state state;

	guard_enter_share(&list, "/home/u/work", &state);
	guard_enter_path(&list, folder, &state);
	return guard_holds_all(&list, &state);
}

static void a_folder_may_be_held_as_a_whole(void)
{
	HELD(".git/hooks/**", ".git/config", ".vscode/*.json", "!.git/refs/**");
	CHECK(holds_all(".git/hooks") && holds_all("x/.git/hooks/y"));
	CHECK(!holds_all(".git") && !holds_all("") && !holds_all(".vscode"));
	CHECK(!holds_all(".git/refs") && !holds_all(".git/config"));
}

static void limits(void)
{
	char text[400];

	guard_list_release(&list);
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK(guard_list_add(&list, GUARD_HELD, text) < 0);
	CHECK(guard_list_add(&list, GUARD_HELD, "") == 0 && list.count == 0);
	for (int i = 0; i < GUARD_PATTERNS_MAX; i++)
		CHECK(guard_list_add(&list, GUARD_HELD, "a") == 0);
	CHECK(guard_list_add(&list, GUARD_HELD, "a") < 0);
	CHECK(guard_list_add(&list, GUARD_HELD, "=a") < 0);
}

int main(void)
{
	RUN(patterns_apply_at_any_depth);
	RUN(a_slash_in_front_means_the_shares_root);
	RUN(other_spellings_count);
	RUN(an_exact_pattern_tells_letters_apart_where_they_are);
	RUN(the_last_match_wins);
	RUN(held_wins_over_shown);
	RUN(a_link_on_the_way_is_held);
	RUN(folders_that_decide_do_not_move);
	RUN(where_a_share_lies_counts);
	RUN(a_folder_may_be_held_as_a_whole);
	RUN(limits);
	guard_list_release(&list);
	return DONE();
}
