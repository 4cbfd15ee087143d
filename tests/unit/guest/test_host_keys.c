/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_host_keys.c - the ssh host keys of a machine are its own
 */
#include "guest/host_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

#define KEY "/etc/ssh/ssh_host_ed25519_key"
#define RSA "/etc/ssh/ssh_host_rsa_key"

static char root[] = "/var/tmp/test_host_keys.XXXXXX";
static const uint8_t one[16] = { 1 }, two[16] = { 2 };

static char *full(const char *path)
{
	static char text[PATH_MAX];

	text_format(text, sizeof(text), "%s%s", root, path);
	return text;
}

static void put(const char *path, const char *text, unsigned mode)
{
	struct error err;

	CHECK(!fileio_replace(AT_FDCWD, full(path), text, strlen(text), mode, 0,
			      &err));
}

/* "": there is none. */
static const char *text_of(const char *path)
{
	static struct buffer text = BUFFER_INIT(4096);

	buffer_release(&text);
	if (fileio_read(AT_FDCWD, full(path), &text, NULL) < 0)
		return "";
	return buffer_str(&text);
}

static void with_keys(void)
{
	removexattr(full("/etc/ssh"), "user.bawn.machine-id");
	put(KEY, "old", 0600);
	put(KEY ".pub", "old", 0644);
	unlink(full(RSA));
	put("/usr/bin/ssh-keygen",
	    "#!/bin/sh\n"
	    "echo \"$5\" > \"$7\"; echo \"$5\" > \"$7.pub\"\n",
	    0755);
}

static void finish(struct host_keys *keys)
{
	pid_t maker = keys->maker;

	CHECK(maker > 0 && waitpid(maker, NULL, 0) == maker);
	CHECK(host_keys_on_exit(keys, maker) && keys->maker == 0);
}

static void a_boot_with_the_templates_keys_gets_its_own(void)
{
	struct host_keys keys = { .root = root };

	with_keys();
	host_keys_wake(&keys, one);
	/* gone at once, not when the new one is there */
	CHECK(keys.maker > 0 && strcmp(text_of(KEY), "old") != 0);
	finish(&keys);
	CHECK(!strcmp(text_of(KEY), "ed25519\n"));
	CHECK(!strcmp(text_of(KEY ".pub"), "ed25519\n"));
	CHECK(!strcmp(text_of(RSA), ""));
}

static void the_same_machine_keeps_them(void)
{
	struct host_keys keys = { .root = root }, again = { .root = root };

	with_keys();
	host_keys_wake(&keys, one);
	finish(&keys);
	put(KEY, "mine", 0600);
	host_keys_note(&keys);
	host_keys_wake(&keys, one);
	CHECK(keys.maker == 0);
	host_keys_wake(&again, one);
	CHECK(again.maker == 0 && !strcmp(text_of(KEY), "mine"));
}

static void a_fork_gets_its_own(void)
{
	struct host_keys keys = { .root = root };

	host_keys_wake(&keys, one);
	if (keys.maker)
		finish(&keys);
	with_keys();
	put(RSA, "old", 0600);
	host_keys_note(&keys);
	CHECK(keys.any);
	host_keys_wake(&keys, two);
	finish(&keys);
	CHECK(!strcmp(text_of(KEY), "ed25519\n"));
	CHECK(!strcmp(text_of(RSA), "rsa\n"));
}

static void a_fork_of_a_maker_begins_again(void)
{
	struct host_keys keys = { .root = root };
	pid_t first;

	with_keys();
	put("/usr/bin/ssh-keygen", "#!/bin/sh\nexec sleep 60\n", 0755);
	host_keys_wake(&keys, one);
	first = keys.maker;
	host_keys_note(&keys);
	CHECK(!keys.any && first > 0);
	with_keys();
	unlink(full(KEY));
	host_keys_wake(&keys, two);
	CHECK(keys.maker != first);
	CHECK(waitpid(first, NULL, 0) == first);
	CHECK(!host_keys_on_exit(&keys, first));
	finish(&keys);
	CHECK(!strcmp(text_of(KEY), "ed25519\n"));
}

static void without_keys_nobody_is_started(void)
{
	struct host_keys keys = { .root = root };

	with_keys();
	unlink(full(KEY));
	host_keys_wake(&keys, one);
	host_keys_note(&keys);
	host_keys_wake(&keys, two);
	CHECK(keys.maker == 0 && !keys.any);
}

static void without_the_program_they_stay(void)
{
	struct host_keys keys = { .root = root };

	with_keys();
	unlink(full("/usr/bin/ssh-keygen"));
	host_keys_wake(&keys, one);
	CHECK(keys.maker == 0 && !strcmp(text_of(KEY), "old"));
}

int main(void)
{
	static const char *const folders[] = { "", "/etc", "/etc/ssh", "/usr",
					       "/usr/bin" };

	CHECK(mkdtemp(root) != NULL);
	for (size_t i = 1; i < ARRAY_SIZE(folders); i++)
		CHECK(mkdir(full(folders[i]), 0755) == 0);
	RUN(a_boot_with_the_templates_keys_gets_its_own);
	RUN(the_same_machine_keeps_them);
	RUN(a_fork_gets_its_own);
	RUN(a_fork_of_a_maker_begins_again);
	RUN(without_keys_nobody_is_started);
	RUN(without_the_program_they_stay);
	fileio_remove_tree(AT_FDCWD, root, NULL);
	return DONE();
}
