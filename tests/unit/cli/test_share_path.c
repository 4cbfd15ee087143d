/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_share_path.c - paths of shares, and where none may be
 */
#include "cli/share_path.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static bool tidies(const char *path, const char *expected)
{
	AUTO_FREE char *tidy = share_path_tidy(path);

	return expected ? tidy && !strcmp(tidy, expected) : !tidy;
}

static void a_path_is_tidied_as_text(void)
{
	CHECK(tidies("/a//b/./c/", "/a/b/c"));
	CHECK(tidies("/a/b/../c", "/a/c"));
	CHECK(tidies("/a/../..", "/"));
	CHECK(tidies("/", "/"));
	CHECK(tidies("/..a/.b", "/..a/.b"));
	CHECK(tidies("a/b", NULL));
	CHECK(tidies("", NULL));
}

static bool taken(const char *path)
{
	struct error err = { 0 };

	return share_guest_check(path, &err) < 0 && err.text[0];
}

static void the_guests_own_places_are_not_for_shares(void)
{
	static const char *const bad[] = {
		"relative",
		"/",
		"//",
		"/proc",
		"/proc/1",
		"/sys/x",
		"/dev",
		"/dev/shm/x",
		"/run",
		"/run/bawn",
		"/run/bawn/lower",
		"/var",
		"/var/lib",
		"/var/lib/bawn/overlay",
		"/usr",
		"/etc",
		"/home",
		"/home/agent",
		"/a/../proc",
		"/a/..",
	};
	static const char *const good[] = {
		"/home/u/project",
		"/home/agent/project",
		"/srv",
		"/etc/hosts",
		"/usr/src/x",
		"/a/..b",
		"/var/lib/x",
		"/root/x",
		"/process",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(taken(bad[i]));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(!taken(good[i]));
}

static bool splits(const char *text, const char *host, const char *guest)
{
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;

	if (share_split(text, &a, &b) < 0)
		return !host;
	return host && !strcmp(a, host) && !strcmp(b, guest);
}

static void a_volume_is_cut_at_the_last_colon_before_a_slash(void)
{
	CHECK(splits("/a:/b", "/a", "/b"));
	CHECK(splits("./a:b:/c:d", "./a:b", "/c:d"));
	CHECK(splits("/a", NULL, NULL));
	CHECK(splits(":/b", NULL, NULL));
	CHECK(splits("/a:b", NULL, NULL));
}

int main(void)
{
	RUN(a_path_is_tidied_as_text);
	RUN(the_guests_own_places_are_not_for_shares);
	RUN(a_volume_is_cut_at_the_last_colon_before_a_slash);
	return DONE();
}
