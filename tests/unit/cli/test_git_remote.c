/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_remote.c - the remote of a sandbox in a config that others wrote
 */
#include "cli/git_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "lib/tap.h"

#define CONFIG_MAX 65536

static char folder[] = "/tmp/bawn-test-remote-XXXXXX";
static int fd, scratch;
static struct error err;

static void put(const char *text)
{
	if (fileio_replace(fd, "config", text, strlen(text), 0640, 0, NULL) < 0)
		abort();
}

static bool has(const char *text)
{
	AUTO_BUFFER struct buffer config = BUFFER_INIT(CONFIG_MAX);
	const char *all;

	if (fileio_read(fd, "config", &config, NULL) < 0)
		return false;
	all = buffer_str(&config);
	return all && strstr(all, text);
}

static bool is_tidy(void)
{
	return faccessat(fd, "config.lock", F_OK, 0) < 0 &&
	       faccessat(scratch, "git-config", F_OK, 0) < 0;
}

static void a_remote_comes_and_goes(void)
{
	struct stat st;

	put("[core]\n\tbare = false\n");
	REQUIRE(git_remote_add(folder, "box", scratch, &err) == 0);
	CHECK(has("[remote \"sandbox-box\"]") && has("url = bawn::box"));
	CHECK(has("+refs/heads/*:refs/remotes/sandbox-box/*"));
	CHECK(has("tagOpt = --no-tags") && has("bare = false"));
	CHECK(fstatat(fd, "config", &st, 0) == 0 &&
	      (st.st_mode & 0777) == 0640);
	CHECK(git_remote_add(folder, "box", scratch, &err) == 0);
	CHECK(git_remote_remove(folder, "box", scratch, &err) == 0);
	CHECK(!has("sandbox-box") && has("bare = false"));
	CHECK(git_remote_remove(folder, "box", scratch, &err) == 0);
	CHECK(is_tidy());
}

static void a_remote_of_another_kind_stays(void)
{
	put("[remote \"sandbox-box\"]\n\turl = ../elsewhere\n");
	CHECK(git_remote_add(folder, "box", scratch, &err) < 0 &&
	      err.code == EEXIST);
	CHECK(git_remote_remove(folder, "box", scratch, &err) == 0);
	CHECK(has("url = ../elsewhere") && !has("bawn::") && is_tidy());
}

static void a_longer_name_is_another_one(void)
{
	put("[remote \"sandbox-box.two\"]\n\turl = bawn::box.two\n");
	CHECK(git_remote_add(folder, "box", scratch, &err) == 0);
	CHECK(has("url = bawn::box\n"));
	CHECK(git_remote_remove(folder, "box", scratch, &err) == 0);
	CHECK(has("url = bawn::box.two\n") && !has("url = bawn::box\n"));
}

static void a_link_is_not_followed(void)
{
	char victim[PATH_MAX];
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", folder);
	if (fileio_replace(fd, "victim", "[core]\n", 7, 0600, 0, NULL) < 0 ||
	    unlinkat(fd, "config", 0) < 0 || symlink(victim, "config") < 0)
		abort();
	CHECK(git_remote_add(folder, "box", scratch, &err) < 0);
	CHECK(stat(victim, &st) == 0 && st.st_size == 7 && is_tidy());
	unlinkat(fd, "config", 0);
}

static void what_a_config_names_does_not_run(void)
{
	put("[include]\n\tpath = evil\n[core]\n\tpager = touch ran\n"
	    "\tfsmonitor = touch ran\n\tsshCommand = touch ran\n"
	    "[alias]\n\tconfig = !touch ran\n");
	CHECK(git_remote_add(folder, "box", scratch, &err) == 0);
	CHECK(has("url = bawn::box") && has("fsmonitor = touch ran"));
	CHECK(faccessat(fd, "ran", F_OK, 0) < 0);
}

static void a_config_that_git_cannot_read_is_left_alone(void)
{
	put("[core\nbroken");
	CHECK(git_remote_add(folder, "box", scratch, &err) < 0);
	CHECK(has("[core\nbroken") && is_tidy());
}

static void a_held_lock_is_respected(void)
{
	put("[core]\n");
	close(openat(fd, "config.lock", O_CREAT | O_WRONLY, 0600));
	CHECK(git_remote_add(folder, "box", scratch, &err) < 0);
	CHECK(faccessat(fd, "config.lock", F_OK, 0) == 0 && !has("bawn"));
	unlinkat(fd, "config.lock", 0);
}

int main(void)
{
	char real[PATH_MAX];

	if (!mkdtemp(folder) || !realpath(folder, real) ||
	    strcmp(real, folder) || chdir(folder) < 0)
		return 1;
	mkdir("scratch", 0700);
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	scratch = open("scratch", O_RDONLY | O_DIRECTORY);
	if (!child_tool("git", NULL)) {
		SKIP(a_remote_comes_and_goes, "git is not installed");
		return DONE();
	}
	RUN(a_remote_comes_and_goes);
	RUN(a_remote_of_another_kind_stays);
	RUN(a_longer_name_is_another_one);
	RUN(a_link_is_not_followed);
	RUN(what_a_config_names_does_not_run);
	RUN(a_config_that_git_cannot_read_is_left_alone);
	RUN(a_held_lock_is_respected);
	fileio_remove_tree(AT_FDCWD, folder, NULL);
	return DONE();
}
