/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_paths.c - where things lie
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"
#include "state/paths.h"

static char scratch[] = "/tmp/bawn-test-paths-XXXXXX";

static void clear(void)
{
	static const char *const names[] = { "BAWN_HOME", "XDG_STATE_HOME",
					     "XDG_CACHE_HOME", "XDG_DATA_HOME",
					     "BAWN_SYSTEM_DIR" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	setenv("HOME", "/home/someone", 1);
}

static int is(enum paths_kind kind, const char *sub, const char *expected)
{
	struct error err = { 0 };
	AUTO_FREE char *path = paths_of(kind, sub, &err);

	if (!path || strcmp(path, expected))
		printf("# %s\n", path ? path : err.text);
	return path && !strcmp(path, expected);
}

static void bawn_home_moves_all_folders(void)
{
	clear();
	setenv("BAWN_HOME", "/srv/b", 1);
	setenv("XDG_STATE_HOME", "/elsewhere", 1);
	CHECK(is(PATHS_STATE, NULL, "/srv/b/state"));
	CHECK(is(PATHS_STATE, "sandboxes", "/srv/b/state/sandboxes"));
	CHECK(is(PATHS_CACHE, NULL, "/srv/b/cache"));
	CHECK(is(PATHS_CONFIG, NULL, "/srv/b/config"));
	CHECK(is(PATHS_DATA, "warm", "/srv/b/data/warm"));
	CHECK(is(PATHS_SYSTEM, NULL, "/var/lib/bawn"));
}

static void xdg_variables_are_honoured_unless_relative(void)
{
	clear();
	setenv("XDG_STATE_HOME", "/x", 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	CHECK(is(PATHS_STATE, NULL, "/x/bawn"));
	CHECK(is(PATHS_CACHE, NULL, "/home/someone/.cache/bawn"));
}

static void defaults_lie_in_the_home_folder(void)
{
	clear();
	CHECK(is(PATHS_STATE, NULL, "/home/someone/.local/state/bawn"));
	CHECK(is(PATHS_DATA, "templates",
		 "/home/someone/.local/share/bawn/templates"));
}

static void a_relative_bawn_home_becomes_absolute(void)
{
	AUTO_FREE char *path = NULL;

	clear();
	setenv("BAWN_HOME", "here", 1);
	path = paths_of(PATHS_STATE, NULL, NULL);
	REQUIRE(path);
	CHECK(path[0] == '/');
	CHECK(strstr(path, "/here/state") != NULL);
}

static void folders_are_made_private_on_first_use(void)
{
	struct error err = { 0 };
	AUTO_CLOSE int fd = -1;
	struct stat st;

	clear();
	setenv("BAWN_HOME", scratch, 1);
	fd = paths_open(PATHS_STATE, "sandboxes", &err);
	REQUIRE(fd >= 0);
	REQUIRE(fstat(fd, &st) == 0);
	CHECK((st.st_mode & 07777) == 0700);
}

static void a_system_folder_is_never_made(void)
{
	struct error err = { 0 };
	char path[128];

	clear();
	snprintf(path, sizeof(path), "%s/system", scratch);
	setenv("BAWN_SYSTEM_DIR", path, 1);
	CHECK(paths_open(PATHS_SYSTEM, NULL, &err) < 0);
	CHECK(access(path, F_OK) < 0);
}

static void a_folder_that_cannot_be_written_names_bawn_home(void)
{
	struct error err = { 0 };

	clear();
	/* /proc takes no folders from anybody, root included */
	setenv("HOME", "/proc/1", 1);
	CHECK(paths_open(PATHS_STATE, NULL, &err) < 0);
	if (err.code == 0)
		CHECK(strstr(err.text, "BAWN_HOME") != NULL);
}

static void a_missing_helper_is_an_error_with_its_name(void)
{
	struct error err = { 0 };
	AUTO_FREE char *path = paths_helper("bawn-nothing", &err);

	CHECK(!path);
	CHECK(strstr(err.text, "bawn-nothing") != NULL);
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	RUN(bawn_home_moves_all_folders);
	RUN(xdg_variables_are_honoured_unless_relative);
	RUN(defaults_lie_in_the_home_folder);
	RUN(a_relative_bawn_home_becomes_absolute);
	RUN(folders_are_made_private_on_first_use);
	RUN(a_system_folder_is_never_made);
	RUN(a_folder_that_cannot_be_written_names_bawn_home);
	RUN(a_missing_helper_is_an_error_with_its_name);
	fileio_remove_tree(AT_FDCWD, scratch, NULL);
	return DONE();
}
