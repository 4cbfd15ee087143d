/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_saved_root.c - what of a disk is not passed on
 */
#include "guest/saved_root.h"

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

#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define ANCHOR "/usr/local/share/ca-certificates/bawn.crt"
#define PEM(text) \
	"-----BEGIN CERTIFICATE-----\n" text "\n-----END CERTIFICATE-----\n"
#define HEADING "# bawn: the authority of this sandbox\n"

static char root[] = "/tmp/test_saved_root.XXXXXX";
static struct error err;

static char *full(const char *path)
{
	static char text[PATH_MAX];

	text_format(text, sizeof(text), "%s%s", root, path);
	return text;
}

static void make(const char *path)
{
	CHECK(fileio_mkdirs(full(path), 0755, &err) == 0);
}

static void put(const char *path, const char *text)
{
	CHECK(fileio_replace(AT_FDCWD, full(path), text, strlen(text), 0644, 0,
			     &err) == 0);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(full(path), &st) == 0;
}

static bool is(const char *path, const char *wanted)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1 << 20);

	return fileio_read(AT_FDCWD, full(path), &text, &err) == 0 &&
	       text.len == strlen(wanted) &&
	       (!text.len || !memcmp(text.data, wanted, text.len));
}

static void what_is_one_sandboxs_is_left_out(void)
{
	static const struct {
		const char *path;
		enum tree_walk_choice choice;
	} rows[] = {
		{ "", TREE_WALK_TAKE },
		{ "etc", TREE_WALK_TAKE },
		{ "etc/passwd", TREE_WALK_TAKE },
		{ "etc/machine-id", TREE_WALK_TAKE },
		{ "etc/ssh/ssh_config", TREE_WALK_TAKE },
		{ "etc/ssh/ssh_host_ed25519_key", TREE_WALK_LEAVE },
		{ "etc/ssh/ssh_host_rsa_key.pub", TREE_WALK_LEAVE },
		{ "run", TREE_WALK_EMPTY },
		{ "tmp", TREE_WALK_EMPTY },
		{ "runs", TREE_WALK_TAKE },
		{ "home/tmp", TREE_WALK_TAKE },
		{ "proc", TREE_WALK_EMPTY },
		{ "var/lib/bawn", TREE_WALK_LEAVE },
		{ "var/lib/bawn-build", TREE_WALK_TAKE },
		{ "var/lib/docker", TREE_WALK_TAKE },
		{ "var/log/dockerd.log", TREE_WALK_LEAVE },
		{ "lost+found", TREE_WALK_LEAVE },
		{ "home/lost+found", TREE_WALK_TAKE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(saved_root_choose(NULL, rows[i].path) == rows[i].choice);
}

static void shared_folders_are_hidden_with_the_folders_made_for_them(void)
{
	static const char paths[] = "/home/you/code\0/work\0/srv/f\0/none/x";

	make("/home/you/code/deep");
	make("/home/agent");
	make("/work");
	make("/srv");
	put("/home/you/code/deep/file", "a clone's");
	put("/srv/f", "");
	CHECK(saved_root_hide(root, paths, sizeof(paths), &err) == 0);
	CHECK(!is_there("/home/you/code") && !is_there("/work"));
	CHECK(!is_there("/srv/f"));
	CHECK(is_there("/home/agent") && is_there("/srv"));
	/* empty folders of root's were made for the mount */
	CHECK(is_there("/home/you") == (geteuid() != 0));
}

static void one_that_holds_more_stays(void)
{
	static const char paths[] = "/opt/a/b/c";

	make("/opt/a/b/c");
	put("/opt/a/file", "kept");
	CHECK(saved_root_hide(root, paths, sizeof(paths), &err) == 0);
	CHECK(!is_there("/opt/a/b/c") && is("/opt/a/file", "kept"));
}

static void a_link_leads_to_where_the_mount_was(void)
{
	char paths[PATH_MAX];

	make("/mnt/real/clone");
	put("/mnt/real/clone/file", "a clone's");
	CHECK(symlink("mnt/real", full("/data")) == 0);
	text_copy(paths, sizeof(paths), "/data/clone");
	CHECK(saved_root_hide(root, paths, strlen(paths) + 1, &err) == 0);
	CHECK(!is_there("/mnt/real/clone"));
}

static void what_is_no_list_of_paths_is_refused(void)
{
	static const char paths[] = "/opt/a\0relative";

	CHECK(saved_root_hide(root, paths, sizeof(paths), &err) < 0);
	for (size_t len = 1; len < sizeof(paths); len++)
		CHECK((saved_root_hide(root, paths, len, &err) == 0) ==
		      !paths[len - 1]);
	CHECK(saved_root_hide(root, "", 0, &err) == 0);
	CHECK(saved_root_hide(root, "/", 2, &err) < 0);
}

static void the_authority_is_trusted_no_more(void)
{
	static const char ours[] = PEM("b3Vycw==");

	make("/etc/ssl/certs");
	make("/usr/local/share/ca-certificates");
	put("/etc/machine-id", "0123\n");
	put(ANCHOR, ours);
	/* as an update of the list left it, and as the start did */
	put(BUNDLE,
	    PEM("b25l") PEM("b3Vycw==") PEM("dHdv") HEADING PEM("b3Vycw=="));
	saved_root_clean(root, ours);
	CHECK(is(BUNDLE, PEM("b25l") PEM("dHdv")));
	CHECK(!is_there(ANCHOR) && is("/etc/machine-id", ""));
	/* one without an authority, and one without anything */
	saved_root_clean(root, "");
	CHECK(is(BUNDLE, PEM("b25l") PEM("dHdv")));
	saved_root_clean("/nonexistent", ours);
}

int main(void)
{
	CHECK(mkdtemp(root) != NULL);
	RUN(what_is_one_sandboxs_is_left_out);
	RUN(shared_folders_are_hidden_with_the_folders_made_for_them);
	RUN(one_that_holds_more_stays);
	RUN(a_link_leads_to_where_the_mount_was);
	RUN(what_is_no_list_of_paths_is_refused);
	RUN(the_authority_is_trusted_no_more);
	CHECK(fileio_remove_tree(AT_FDCWD, root, &err) == 0);
	return DONE();
}
