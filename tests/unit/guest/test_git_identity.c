/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_git_identity.c - who commits in the guest, as the host says
 */
#include "guest/git_identity.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

#define SYSTEM "/etc/gitconfig"
#define INCLUDE "[include]\n\tpath = " GIT_IDENTITY_FILE "\n"
#define TEXT "[user]\n\tname = \"A\"\n"

static char root[] = "/tmp/test_git_identity.XXXXXX";

static char *full(const char *path)
{
	static char text[PATH_MAX];

	text_format(text, sizeof(text), "%s%s", root, path);
	return text;
}

static void put(const char *path, const char *text)
{
	CHECK(!fileio_replace(AT_FDCWD, full(path), text, strlen(text), 0644, 0,
			      NULL));
}

static bool is(const char *path, const char *wanted)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1 << 20);

	if (fileio_read(AT_FDCWD, full(path), &text, NULL) < 0)
		return false;
	return text.len == strlen(wanted) &&
	       !memcmp(text.data, wanted, text.len);
}

static void nothing_said_changes_nothing(void)
{
	git_identity_install(root, "");
	CHECK(access(full(SYSTEM), F_OK) < 0);
	CHECK(access(full(GIT_IDENTITY_FILE), F_OK) < 0);
}

static void it_is_included_once(void)
{
	git_identity_install(root, TEXT);
	CHECK(is(GIT_IDENTITY_FILE, TEXT));
	CHECK(is(SYSTEM, INCLUDE));
	git_identity_install(root, TEXT);
	CHECK(is(SYSTEM, INCLUDE));
}

static void lines_of_the_template_come_after_it(void)
{
	put(SYSTEM, "[user]\n\tname = Template\n");
	git_identity_install(root, TEXT);
	CHECK(is(SYSTEM, INCLUDE "[user]\n\tname = Template\n"));
}

static void it_goes_when_the_host_says_nothing_more(void)
{
	git_identity_install(root, "");
	CHECK(access(full(GIT_IDENTITY_FILE), F_OK) < 0);
	CHECK(is(SYSTEM, INCLUDE "[user]\n\tname = Template\n"));
}

static void what_is_no_file_is_left_alone(void)
{
	CHECK(!unlink(full(SYSTEM)));
	CHECK(!mkfifo(full(SYSTEM), 0600));
	git_identity_install(root, TEXT);
	CHECK(is(GIT_IDENTITY_FILE, TEXT));
	CHECK(!unlink(full(SYSTEM)));
	CHECK(!symlink("/nowhere", full(SYSTEM)));
	git_identity_install(root, TEXT);
	CHECK(!unlink(full(SYSTEM)));
}

int main(void)
{
	if (!mkdtemp(root) || fileio_mkdirs(full("/etc"), 0755, NULL) < 0 ||
	    fileio_mkdirs(full("/run/bawn"), 0755, NULL) < 0)
		return 1;
	RUN(nothing_said_changes_nothing);
	RUN(it_is_included_once);
	RUN(lines_of_the_template_come_after_it);
	RUN(it_goes_when_the_host_says_nothing_more);
	RUN(what_is_no_file_is_left_alone);
	CHECK(!fileio_remove_tree(AT_FDCWD, root, NULL));
	return DONE();
}
