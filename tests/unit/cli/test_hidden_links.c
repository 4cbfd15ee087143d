/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hidden_links.c - files that are hidden, for their other names
 */
#include "cli/hidden_links.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-hidden-XXXXXX";

static void put(const char *path)
{
	CHECK(fileio_replace(AT_FDCWD, path, "x", 1, 0600, 0, NULL) == 0);
}

static json_t *share(const char *under, json_t *hide)
{
	char path[200];

	snprintf(path, sizeof(path), "%s%s", scratch, under);
	return json_pack("{s:s, s:o}", "path", path, "hide", hide);
}

static bool lists(const json_t *files, const char *path)
{
	json_t *row;
	struct stat st;
	size_t i;

	CHECK(lstat(path, &st) == 0);
	json_array_foreach(files, i, row)
	{
		if ((ino_t)json_integer_value(json_array_get(row, 2)) ==
		    st.st_ino)
			return true;
	}
	return false;
}

static void hidden_files_are_found_wherever_they_are(void)
{
	json_t *shares =
		json_pack("[o]", share("", json_pack("[s, s, s]", ".env",
						     "/keys/", "!keep.env")));
	json_t *files = hidden_links_of(shares, NULL);

	CHECK(lists(files, ".env") && lists(files, "a/b/.env"));
	CHECK(lists(files, "keys/deep/one"));
	CHECK(!lists(files, "free") && !lists(files, "a/keys"));
	CHECK(json_array_size(files) == 3);
	json_decref(files);
	json_decref(shares);
}

static void nobody_looks_where_nothing_is_hidden(void)
{
	json_t *shares = json_pack("[o]", share("", json_array()));
	json_t *files = hidden_links_of(shares, NULL);

	CHECK(json_array_size(files) == 0);
	json_decref(files);
	json_decref(shares);
}

static void other_shares_and_own_folders_are_left_out(void)
{
	json_t *shares =
		json_pack("[o, o]", share("", json_pack("[s]", "/keys/**")),
			  share("/keys", json_array()));
	json_t *files = hidden_links_of(shares, NULL);
	json_t *absent;
	char own[200];

	CHECK(json_array_size(files) == 0);
	json_decref(files);
	json_array_remove(shares, 1);
	snprintf(own, sizeof(own), "%s/keys/deep", scratch);
	absent = json_pack("[s]", own);
	files = hidden_links_of(shares, absent);
	CHECK(json_array_size(files) == 0);
	json_decref(files);
	json_decref(absent);
	json_decref(shares);
}

static void links_are_not_followed(void)
{
	json_t *shares = json_pack("[o]", share("", json_pack("[s]", "one")));
	json_t *files;

	CHECK(symlink("keys", "linked") == 0 && symlink("free", "one") == 0);
	files = hidden_links_of(shares, NULL);
	CHECK(json_array_size(files) == 1 && lists(files, "keys/deep/one"));
	json_decref(files);
	json_decref(shares);
}

static void a_file_with_two_names_is_never_crowded_out(void)
{
	json_t *shares = json_pack("[o]", share("", json_pack("[s]", "/many")));
	json_t *files;

	CHECK(mkdir("many", 0700) == 0 && mkdir("many/z", 0700) == 0);
	for (int i = 0; i < HIDDEN_LINKS_MAX; i++) {
		char path[32];

		snprintf(path, sizeof(path), "many/%d", i);
		close(open(path, O_CREAT | O_CLOEXEC, 0600));
	}
	put("many/z/two");
	CHECK(link("many/z/two", "other") == 0);
	files = hidden_links_of(shares, NULL);
	CHECK(json_array_size(files) == HIDDEN_LINKS_MAX / 2 + 1);
	CHECK(lists(files, "other"));
	json_decref(files);
	json_decref(shares);
}

int main(void)
{
	CHECK(mkdtemp(scratch) && chdir(scratch) == 0);
	CHECK(mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0);
	CHECK(mkdir("keys", 0700) == 0 && mkdir("keys/deep", 0700) == 0);
	put(".env");
	put("a/b/.env");
	put("a/keys");
	put("keys/deep/one");
	put("free");
	RUN(hidden_files_are_found_wherever_they_are);
	RUN(nobody_looks_where_nothing_is_hidden);
	RUN(other_shares_and_own_folders_are_left_out);
	RUN(links_are_not_followed);
	RUN(a_file_with_two_names_is_never_crowded_out);
	CHECK(chdir("/") == 0 &&
	      fileio_remove_tree(AT_FDCWD, scratch, NULL) == 0);
	return DONE();
}
