/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store.c - what is found, what is cleaned, what is removed
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/store.h"
#include "lib/tap.h"

static char scratch[] = "/tmp/bawn-test-store-XXXXXX";

static void put_sandbox(const struct store *store, const char *name)
{
	struct sandbox_record record = { .name = (char *)name,
					 .id = "00",
					 .agent = "shell",
					 .mode = "direct",
					 .template_name = "tiny",
					 .template_id = "sha256:0",
					 .accel = "auto",
					 .isolation = "microvm" };
	AUTO_CLOSE int folder = -1;

	CHECK(mkdirat(store->folder, name, 0700) == 0);
	folder = openat(store->folder, name, O_RDONLY | O_DIRECTORY);
	mkdirat(folder, "machine", 0700);
	CHECK(sandbox_record_save(folder, &record, NULL) == 0);
}

static bool there(const struct store *store, const char *name)
{
	return faccessat(store->folder, name, F_OK, 0) == 0;
}

static void names_are_listed_in_order_without_hidden_ones(void)
{
	AUTO_STORE struct store store = STORE_INIT;

	REQUIRE(store_open(&store, NULL) == 0);
	put_sandbox(&store, "bb");
	put_sandbox(&store, "aa");
	mkdirat(store.folder, ".tmp-1", 0700);
	REQUIRE(store_list(&store, NULL) == 0);
	REQUIRE(store.count == 2);
	CHECK(!strcmp(store.names[0], "aa") && !strcmp(store.names[1], "bb"));
}

static void a_missing_sandbox_is_enoent_with_a_suggestion(void)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	struct error err = { 0 };

	REQUIRE(store_open(&store, NULL) == 0);
	CHECK(store_find(&store, "aab", &sandbox, &err) < 0);
	CHECK(err.code == ENOENT && strstr(err.text, "aa?"));
	CHECK(store_find(&store, "../x", &sandbox, &err) < 0);
	CHECK(err.code == ENOENT);
	CHECK(store_find(&store, "aa", &sandbox, &err) == 0);
}

static void leftovers_of_dead_commands_are_cleaned(void)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_CLOSE int lock = -1;

	REQUIRE(store_open(&store, NULL) == 0);
	mkdirat(store.folder, ".tmp-held", 0700);
	lock = fileio_lock(store.folder, ".tmp-held/lock", FILEIO_LOCK_TRY,
			   NULL);
	mkdirat(store.folder, "half", 0700);
	CHECK(store_leftovers(&store) == 1);
	store_list(&store, NULL);
	store_clean(&store);
	CHECK(!there(&store, ".tmp-1"));
	CHECK(there(&store, ".tmp-held"));
	CHECK(!there(&store, "half"));
	CHECK(there(&store, "aa") && there(&store, "bb"));
}

static void a_sandbox_of_rm_goes_when_its_command_is_gone(void)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_CLOSE int owner = -1;

	REQUIRE(store_open(&store, NULL) == 0);
	put_sandbox(&store, "throwaway");
	owner = fileio_lock(store.folder, "throwaway/owner", FILEIO_LOCK_TRY,
			    NULL);
	store_list(&store, NULL);
	store_clean(&store);
	CHECK(there(&store, "throwaway"));
	close(TAKE_FD(owner));
	store_clean(&store);
	CHECK(!there(&store, "throwaway"));
}

static void a_sandbox_whose_machine_runs_is_not_removed(void)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_CLOSE int alive = -1;
	struct error err = { 0 };

	REQUIRE(store_open(&store, NULL) == 0);
	alive = fileio_lock(store.folder, "aa/machine/alive", FILEIO_LOCK_TRY,
			    NULL);
	CHECK(store_remove(&store, "aa", &err) < 0 && err.code == EBUSY);
	CHECK(there(&store, "aa"));
	close(TAKE_FD(alive));
	CHECK(store_remove(&store, "aa", &err) == 0 && !there(&store, "aa"));
	CHECK(store_remove(&store, "aa", &err) == 0);
}

/* The launcher of one of --rm comes late, when its command has removed it. */
static void another_that_has_got_the_name_is_not_removed(void)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_CLOSE int first = -1;
	struct error err = { 0 };

	REQUIRE(store_open(&store, NULL) == 0);
	REQUIRE(mkdirat(store.folder, "same", 0700) == 0);
	first = openat(store.folder, "same", O_RDONLY | O_DIRECTORY);
	REQUIRE(renameat(store.folder, "same", store.folder, ".tmp-0") == 0);
	REQUIRE(mkdirat(store.folder, "same", 0700) == 0);
	CHECK(sandbox_remove_this(store.folder, "same", first, false, &err) ==
	      0);
	CHECK(there(&store, "same") && there(&store, ".tmp-0"));
	REQUIRE(unlinkat(store.folder, "same", AT_REMOVEDIR) == 0);
	REQUIRE(renameat(store.folder, ".tmp-0", store.folder, "same") == 0);
	CHECK(sandbox_remove_this(store.folder, "same", first, false, &err) ==
	      0);
	CHECK(!there(&store, "same"));
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	setenv("BAWN_HOME", scratch, 1);
	RUN(names_are_listed_in_order_without_hidden_ones);
	RUN(a_missing_sandbox_is_enoent_with_a_suggestion);
	RUN(leftovers_of_dead_commands_are_cleaned);
	RUN(a_sandbox_of_rm_goes_when_its_command_is_gone);
	RUN(a_sandbox_whose_machine_runs_is_not_removed);
	RUN(another_that_has_got_the_name_is_not_removed);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
