/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_files_config.c - what bawn-files is told: flags, hidden paths, numbers
 */
#include "cli/files_config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-files-XXXXXX";
static struct error err;
static char p[PATH_MAX], p_sub[PATH_MAX], q[PATH_MAX], file[PATH_MAX];

static void put(const char *path, const char *text)
{
	CHECK(fileio_replace(AT_FDCWD, path, text, strlen(text), 0600, 0,
			     NULL) == 0);
}

static struct sandbox_record record_of(struct share_record *shares, size_t n)
{
	return (struct sandbox_record){ .mode = "direct",
					.shares = { shares, n } };
}

static json_t *share_at(json_t *files, size_t at)
{
	return json_array_get(json_object_get(files, "shares"), at);
}

static bool flag(json_t *share, const char *key)
{
	return json_is_true(json_object_get(share, key));
}

/* Its position among the hidden paths of a share; -1 when it is not there. */
static int hides(json_t *share, const char *pattern)
{
	json_t *value;
	size_t i;

	json_array_foreach(json_object_get(share, "hide"), i, value)
	{
		if (!strcmp(json_string_value(value), pattern))
			return (int)i;
	}
	return -1;
}

static void hidden_paths_come_from_four_places(void)
{
	struct share_record shares[] = { { p, p, false, false },
					 { q, q, false, false },
					 { p_sub, p_sub, true, false } };
	struct sandbox_record record = record_of(shares, ARRAY_SIZE(shares));
	char *hide[] = { "*.key", NULL };
	json_t *files;

	put("p/.bawnignore", "# ours\n!*.key\n/priv/\n");
	put("p/.claude/settings.json",
	    "{\"permissions\":{\"deny\":[\"Read(./.env)\"]}}");
	put("p/.claude/settings.local.json", "not JSON");
	put(".claude/settings.json",
	    "{\"permissions\":{\"deny\":[\"Read(~/q/x)\"]}}");
	record.hide = hide;
	files = files_config_make(&record, &err);
	REQUIRE(files);
	CHECK(hides(share_at(files, 0), "/priv/") == 1);
	CHECK(hides(share_at(files, 0), "/.env") >= 0);
	/* the user's word after the project's */
	CHECK(hides(share_at(files, 0), "*.key") >
	      hides(share_at(files, 0), "!*.key"));
	CHECK(hides(share_at(files, 0), "/sub/**") >
	      hides(share_at(files, 0), "*.key"));
	CHECK(hides(share_at(files, 0), "/x") < 0);
	CHECK(hides(share_at(files, 1), "/x") >= 0);
	CHECK(hides(share_at(files, 1), "/priv/") < 0);
	CHECK(hides(share_at(files, 1), "*.key") >= 0);
	CHECK(flag(share_at(files, 2), "read_only"));
	CHECK(!flag(share_at(files, 0), "read_only"));
	json_decref(files);
}

static void a_bad_bawnignore_is_an_error_and_a_link_out_of_it_too(void)
{
	struct share_record shares[] = { { p, p, false, false } };
	struct sandbox_record record = record_of(shares, 1);

	put("p/.bawnignore", "a\n\xff\n");
	CHECK(!files_config_make(&record, &err) && strstr(err.text, "line 2"));
	CHECK(unlink("p/.bawnignore") == 0);
	CHECK(symlink("/etc/passwd", "p/.bawnignore") == 0);
	CHECK(!files_config_make(&record, &err));
	CHECK(unlink("p/.bawnignore") == 0);
	CHECK(mkfifo("p/.bawnignore", 0600) == 0);
	CHECK(!files_config_make(&record, &err));
	CHECK(unlink("p/.bawnignore") == 0);
}

static void only_direct_mode_writes_to_the_host(void)
{
	struct share_record shares[] = { { p, p, false, false },
					 { file, file, false, false },
					 { q, q, true, false } };
	struct sandbox_record record = record_of(shares, ARRAY_SIZE(shares));
	json_t *files;

	record.mode = "overlay";
	files = files_config_make(&record, &err);
	REQUIRE(files);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		CHECK(flag(share_at(files, i), "read_only"));
	CHECK(flag(share_at(files, 0), "overlay"));
	CHECK(!flag(share_at(files, 1), "overlay"));
	CHECK(!flag(share_at(files, 2), "overlay"));
	CHECK(json_is_null(json_object_get(files, "guard")));
	CHECK(!flag(files, "undo"));
	json_decref(files);
	record.mode = "direct";
	files = files_config_make(&record, &err);
	REQUIRE(files);
	CHECK(!flag(share_at(files, 0), "read_only"));
	CHECK(json_array_size(json_object_get(json_object_get(files, "guard"),
					      "held")) > 50);
	CHECK(flag(files, "undo"));
	json_decref(files);
}

static bool holds(json_t *files, const char *pattern)
{
	json_t *held = json_object_get(json_object_get(files, "guard"), "held");
	json_t *value;
	size_t i;

	json_array_foreach(held, i, value)
	{
		if (!strcmp(json_string_value(value), pattern))
			return true;
	}
	return false;
}

static void what_the_hosts_git_runs_is_held(void)
{
	struct share_record shares[] = { { p, p, false, false },
					 { q, q, false, true } };
	struct sandbox_record record = record_of(shares, ARRAY_SIZE(shares));
	json_t *files;

	CHECK(fileio_mkdirs("p/.git", 0700, NULL) == 0);
	CHECK(fileio_mkdirs("p/real", 0700, NULL) == 0);
	CHECK(symlink("../real", "p/.git/hooks") == 0);
	CHECK(symlink("real", "p/late") == 0);
	put("p/.git/config",
	    "[core]\n\tbare = false ; no\n\thooksPath = dev/hooks # ours\n"
	    "\tfsmonitor = late/watch\n[filter \"a]b\"] CLEAN = \"sh "
	    "./tools/clean*.sh -x\"\n[include]\npath=../dev/gitconfig\n"
	    "[alias]\n\tx = !scripts/x.sh && ls\n[remote \"o\"]\n"
	    "\turl = ./elsewhere\n[core]\n\teditor = vi\n"
	    "\tpager = /usr/bin/less\n\thookspath = ..\n");
	put("q/config", "[diff \"d\"]\n\ttextconv = bin/show\n");
	put(".gitconfig", "[core]\n\thooksPath = .my-hooks\n");
	files = files_config_make(&record, &err);
	REQUIRE(files);
	CHECK(holds(files, "/dev/hooks") && holds(files, "/dev/hooks/**"));
	CHECK(holds(files, "/late/watch") && holds(files, "/real/**"));
	CHECK(holds(files, "/tools/clean\\*.sh"));
	CHECK(holds(files, "/dev/gitconfig"));
	CHECK(holds(files, "/scripts/x.sh"));
	CHECK(holds(files, "/bin/show") && holds(files, "/.my-hooks/**"));
	CHECK(!holds(files, "/elsewhere") && !holds(files, "/vi"));
	CHECK(!holds(files, "") && !holds(files, "/**"));
	json_decref(files);
	/* a fifo does not hold us up */
	CHECK(unlink("p/.git/config") == 0 && unlink(".gitconfig") == 0);
	CHECK(mkfifo("p/.git/config", 0600) == 0);
	files = files_config_make(&record, &err);
	CHECK(files && !holds(files, "/dev/hooks"));
	json_decref(files);
}

static void bawns_own_folders_are_absent_and_made_where_one_is_shared(void)
{
	struct share_record shares[] = { { scratch, scratch, false, false } };
	struct sandbox_record record = record_of(shares, 1);
	char own[PATH_MAX];
	json_t *files, *absent, *value;
	bool found = false;
	size_t i;

	files = files_config_make(&record, &err);
	REQUIRE(files);
	absent = json_object_get(files, "absent");
	snprintf(own, sizeof(own), "%s/home/config", scratch);
	CHECK(access(own, F_OK) == 0);
	json_array_foreach(absent, i, value) found |=
		!strcmp(json_string_value(value), own);
	CHECK(found);
	/* and its place, which holds what lies above it where it is */
	CHECK(hides(share_at(files, 0), "/home/config") >= 0);
	CHECK(hides(share_at(files, 0), "/home/state") >= 0);
	json_decref(files);
}

static void numbers_stay_while_shares_come_and_go(void)
{
	struct share_record both[] = { { p, p, false, false },
				       { q, q, false, true } };
	struct share_record other[] = { { p, p, false, false },
					{ file, "/f", true, true } };
	struct sandbox_record record = record_of(both, 2);
	struct sandbox sandbox = { .folder = open(scratch, O_RDONLY) };
	json_t *running = files_config_make(&record, &err), *next, *again;

	REQUIRE(running);
	CHECK(files_config_save(&sandbox, running, &err) == 0);
	json_decref(running);
	running = files_config_load(&sandbox, &err);
	REQUIRE(running);
	record = record_of(other, 2);
	next = files_config_follow(&record, running, &err);
	REQUIRE(next);
	CHECK(json_array_size(json_object_get(next, "shares")) == 3);
	CHECK(!flag(share_at(next, 0), "gone"));
	CHECK(flag(share_at(next, 1), "gone"));
	CHECK(!flag(share_at(next, 2), "gone"));
	/* back again: under a new number */
	record = record_of(both, 2);
	again = files_config_follow(&record, next, &err);
	REQUIRE(again);
	CHECK(json_array_size(json_object_get(again, "shares")) == 4);
	CHECK(flag(share_at(again, 1), "gone"));
	CHECK(flag(share_at(again, 2), "gone"));
	CHECK(!flag(share_at(again, 3), "gone"));
	json_decref(again);
	json_decref(next);
	json_decref(running);
	close(sandbox.folder);
}

static void a_forks_overlay_keeps_the_number_of_the_folder(void)
{
	struct share_record both[] = { { p, p, false, false },
				       { q, q, true, true } };
	struct sandbox_record record = record_of(both, 2);
	json_t *running = files_config_make(&record, &err), *next, *back;

	REQUIRE(running);
	record.mode = "overlay";
	next = files_config_follow(&record, running, &err);
	REQUIRE(next);
	CHECK(json_array_size(json_object_get(next, "shares")) == 2);
	CHECK(flag(share_at(next, 0), "overlay"));
	CHECK(flag(share_at(next, 0), "read_only"));
	CHECK(!flag(share_at(next, 0), "gone"));
	CHECK(!flag(share_at(next, 1), "overlay"));
	/* never the other way round */
	record.mode = "direct";
	back = files_config_follow(&record, next, &err);
	REQUIRE(back);
	CHECK(flag(share_at(back, 0), "gone"));
	CHECK(json_array_size(json_object_get(back, "shares")) == 3);
	json_decref(back);
	json_decref(next);
	json_decref(running);
}

static void a_new_list_is_taken_or_thrown_away(void)
{
	struct sandbox sandbox = { .folder = open(scratch, O_RDONLY) };
	json_t *old = json_pack("{s:[i]}", "shares", 1);
	json_t *new = json_pack("{s:[i]}", "shares", 2);
	json_t *found;

	CHECK(files_config_save(&sandbox, old, &err) == 0);
	CHECK(files_config_prepare(&sandbox, new, &err) == 0);
	found = files_config_load(&sandbox, &err);
	CHECK(json_equal(found, old));
	json_decref(found);
	files_config_cancel(&sandbox);
	CHECK(files_config_commit(&sandbox, &err) < 0);
	CHECK(files_config_prepare(&sandbox, new, &err) == 0);
	CHECK(files_config_commit(&sandbox, &err) == 0);
	found = files_config_load(&sandbox, &err);
	CHECK(json_equal(found, new));
	json_decref(found);
	json_decref(old);
	json_decref(new);
	close(sandbox.folder);
}

int main(void)
{
	if (!mkdtemp(scratch) || chdir(scratch) < 0)
		return 1;
	setenv("BAWN_HOME", "home", 1);
	setenv("HOME", scratch, 1);
	snprintf(p, sizeof(p), "%s/p", scratch);
	snprintf(p_sub, sizeof(p_sub), "%s/p/sub", scratch);
	snprintf(q, sizeof(q), "%s/q", scratch);
	snprintf(file, sizeof(file), "%s/file", scratch);
	fileio_mkdirs("p/sub", 0700, NULL);
	fileio_mkdirs("p/.claude", 0700, NULL);
	fileio_mkdirs(".claude", 0700, NULL);
	fileio_mkdirs("q", 0700, NULL);
	put("file", "");
	RUN(hidden_paths_come_from_four_places);
	RUN(a_bad_bawnignore_is_an_error_and_a_link_out_of_it_too);
	RUN(only_direct_mode_writes_to_the_host);
	RUN(what_the_hosts_git_runs_is_held);
	RUN(bawns_own_folders_are_absent_and_made_where_one_is_shared);
	RUN(numbers_stay_while_shares_come_and_go);
	RUN(a_forks_overlay_keeps_the_number_of_the_folder);
	RUN(a_new_list_is_taken_or_thrown_away);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
