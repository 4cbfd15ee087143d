/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_change_guard.c - which changes are applied only when somebody names them
 */
#include "changes/change_guard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "lib/tap.h"

#define ROOM 16

static char top[] = "/tmp/change-guard-XXXXXX";
static struct guard_list patterns;
static struct change_guard guard;
static struct set_entry entries[ROOM];
static struct change changes[ROOM];
static struct change_list list;

static void begin(const char *host_path)
{
	static const char *const held[] = {
		".git",   ".git/config",  ".git/hooks/**",      "=HEAD",
		".envrc", "!.git/HEAD",   ".vscode/tasks.json", ".husky/**",
		"/only",  "!.husky/free",
	};

	guard_list_release(&patterns);
	for (size_t i = 0; i < ARRAY_SIZE(held); i++)
		CHECK(guard_list_add(&patterns, GUARD_HELD, held[i]) == 0);
	guard = (struct change_guard){ .list = &patterns, .folder = -1 };
	guard_enter_share(&patterns, host_path, &guard.root);
	guard_enter_share(&patterns, ".git", &guard.git);
	memset(changes, 0, sizeof(changes));
	list = (struct change_list){ changes, 0, ROOM };
}

/* In the order of change_list_make(); a type of 0: not there. */
static void add(enum change_kind kind, const char *path, mode_t host,
		mode_t guest)
{
	struct set_entry *entry = &entries[list.count];
	struct change *change = &changes[list.count++];

	*entry = (struct set_entry){ .path = (char *)path,
				     .mode = guest | 0644 };
	*change = (struct change){ .kind = kind,
				   .path = (char *)path,
				   .entry = guest ? entry : NULL };
	change->host.st_mode = host | 0644;
}

static void add_new(const char *path)
{
	add(CHANGE_NEW, path, 0, S_IFREG);
}

#define MARK(...)              \
	change_guard_mark(     \
		&guard, &list, \
		(const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

/* One letter for each: h held and left out, n held and named, - free. */
static bool marked(const char *want)
{
	char got[ROOM + 1] = "";

	for (size_t i = 0; i < list.count; i++) {
		got[i] = changes[i].withheld ? 'h'
			 : changes[i].held   ? 'n'
					     : '-';
		CHECK(changes[i].held || !changes[i].own);
		CHECK(changes[i].held || !changes[i].withheld);
	}
	if (strcmp(got, want))
		printf("# %s, not %s\n", got, want);
	return !strcmp(got, want);
}

static void held_files_are_left_out_unless_named(void)
{
	begin("/w");
	add_new(".envrc");
	add(CHANGE_MODIFIED, ".git/config", S_IFREG, S_IFREG);
	add(CHANGE_MODE, ".git/hooks/a", S_IFREG, S_IFREG);
	add(CHANGE_DELETED, ".git/hooks/b", S_IFREG, 0);
	add_new("a");
	add_new("sub/only");
	MARK();
	CHECK(marked("hhhh--"));
	MARK(".envrc", "a");
	CHECK(marked("nhhh--"));
	MARK(".git/hooks/b");
	CHECK(marked("hhhn--"));
	MARK(".git/hooks");
	CHECK(marked("hhnn--"));
}

static void a_folder_with_other_files_too_names_nothing_in_it(void)
{
	begin("/w");
	add_new(".git/config");
	add_new(".git/hooks/a");
	add_new(".git/index");
	add_new(".vscode/tasks.json");
	MARK(".git", ".vscode", "");
	CHECK(marked("hh-h"));
	MARK(".git/conf", ".git/hook", ".git/config/x");
	CHECK(marked("hh-h"));
}

static void a_new_repository_comes_without_what_is_held(void)
{
	begin("/w");
	add(CHANGE_NEW, "sub", 0, S_IFDIR);
	add(CHANGE_NEW, "sub/.git", 0, S_IFDIR);
	add_new("sub/.git/HEAD");
	add_new("sub/.git/config");
	add(CHANGE_NEW, "sub/.git/hooks", 0, S_IFDIR);
	add_new("sub/.git/hooks/x");
	add_new("sub/a");
	MARK("sub", "sub/.git");
	CHECK(marked("---h-h-"));
	MARK("sub/.git/hooks", "sub/.git/config");
	CHECK(marked("---n-n-"));
}

static void a_repository_has_any_name(void)
{
	begin("/w");
	add_new("bare/HEAD");
	add_new("bare/config");
	add_new("bare/head");
	add(CHANGE_NEW, "bare/hooks", 0, S_IFDIR);
	add_new("bare/hooks/x");
	add_new("bare/index");
	add_new("other/config");
	MARK("bare");
	CHECK(marked("hh--h--"));
	MARK("bare/hooks", "bare/HEAD");
	CHECK(marked("nh--n--"));
	guard.folds_case = true;
	MARK("bare");
	CHECK(marked("hhh-h--"));
	/* the host's HEAD counts as well, its absence in the set does not */
	begin("/w");
	guard.folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(mkdirat(guard.folder, "bare", 0755) == 0 &&
		mkdirat(guard.folder, "none", 0755) == 0 &&
		mkdirat(guard.folder, "none/HEAD", 0755) == 0 &&
		symlinkat("x", guard.folder, "bare/HEAD") == 0);
	add_new("bare/config");
	add_new("none/config");
	MARK();
	CHECK(marked("h-"));
	close(guard.folder);
}

static void a_link_in_the_place_of_a_folder_takes_all_of_it_along(void)
{
	begin("/w");
	add(CHANGE_DELETED, ".vscode", S_IFDIR, 0);
	add(CHANGE_NEW, ".vscode", 0, S_IFLNK);
	add_new(".vscode-x");
	add(CHANGE_DELETED, ".vscode/mine", S_IFREG, 0);
	add(CHANGE_DELETED, ".vscode/tasks.json", S_IFREG, 0);
	MARK();
	CHECK(marked("hh-hh"));
	MARK(".vscode/mine", ".vscode/tasks.json");
	CHECK(marked("hh-hh"));
	MARK(".vscode");
	CHECK(marked("nn-nn"));
}

static void a_folder_in_the_place_of_a_git_file_is_held_with_it(void)
{
	begin("/w");
	add(CHANGE_DELETED, ".git", S_IFREG, 0);
	add(CHANGE_NEW, ".git", 0, S_IFDIR);
	add_new(".git/config");
	add_new(".git/index");
	MARK();
	CHECK(marked("hhhh"));
	MARK(".git/config", ".git/index");
	CHECK(marked("hhhh"));
	/* what is in it is not what was there */
	MARK(".git");
	CHECK(marked("nnhn"));
	MARK(".git", ".git/config");
	CHECK(marked("nnnn"));
}

static void git_as_a_file_or_link_is_held_and_as_a_folder_not(void)
{
	begin("/w");
	add(CHANGE_NEW, "a/.git", 0, S_IFREG);
	add(CHANGE_NEW, "b/.GIT", 0, S_IFLNK);
	add(CHANGE_NEW, "c/.git", 0, S_IFDIR);
	add(CHANGE_NEW, "d/.vscode", 0, S_IFLNK);
	add(CHANGE_NEW, "e/.vscode", 0, S_IFREG);
	MARK("a", "b", "d");
	CHECK(marked("hh-h-"));
}

static void where_the_folder_lies_counts(void)
{
	begin("/w/.git");
	add_new("config");
	add_new("hooks/a");
	add_new("index");
	MARK();
	CHECK(marked("hh-"));
	begin("/w");
	add_new("config");
	add_new("only");
	MARK();
	CHECK(marked("-h"));
}

static void names_are_as_short_as_they_may_be(void)
{
	AUTO_FREE char *file = NULL, *folder = NULL, *deep = NULL;

	begin("/w");
	file = change_guard_name(&guard, &list, ".git/config");
	folder = change_guard_name(&guard, &list, "sub/.git/hooks/a");
	deep = change_guard_name(&guard, &list, ".husky/_/x/y");
	CHECK(!strcmp(file, ".git/config"));
	CHECK(!strcmp(folder, "sub/.git/hooks"));
	CHECK(!strcmp(deep, ".husky"));
	add_new(".husky/_/x/y");
	add_new(".husky/free");
	MARK(deep);
	CHECK(marked("n-"));
}

int main(void)
{
	struct error err;

	if (!mkdtemp(top))
		return 1;
	RUN(held_files_are_left_out_unless_named);
	RUN(a_folder_with_other_files_too_names_nothing_in_it);
	RUN(a_new_repository_comes_without_what_is_held);
	RUN(a_repository_has_any_name);
	RUN(a_link_in_the_place_of_a_folder_takes_all_of_it_along);
	RUN(a_folder_in_the_place_of_a_git_file_is_held_with_it);
	RUN(git_as_a_file_or_link_is_held_and_as_a_folder_not);
	RUN(where_the_folder_lies_counts);
	RUN(names_are_as_short_as_they_may_be);
	guard_list_release(&patterns);
	fileio_remove_tree(AT_FDCWD, top, &err);
	return DONE();
}
