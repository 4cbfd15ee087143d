/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tar_path.c - names of archive entries
 */
#include "tar/tar_path.h"

#include "base/error.h"
#include "lib/tap.h"

static char out[TAR_PATH_MAX];
static struct error err;

static int normalise(const char *name)
{
	return tar_path_normalise(name, strlen(name), out, &err);
}

static void spellings_become_one(void)
{
	CHECK(normalise("usr/bin/env") == 0 && !strcmp(out, "usr/bin/env"));
	CHECK(normalise("./usr//bin/") == 0 && !strcmp(out, "usr/bin"));
	CHECK(normalise("usr/./bin/.") == 0 && !strcmp(out, "usr/bin"));
	CHECK(normalise("./") == 0 && !strcmp(out, ""));
	CHECK(normalise(".") == 0 && !strcmp(out, ""));
	CHECK(normalise("a/...") == 0 && !strcmp(out, "a/..."));
	CHECK(normalise("..a/b..") == 0 && !strcmp(out, "..a/b.."));
}

static void ways_out_are_refused(void)
{
	CHECK(normalise("") < 0);
	CHECK(normalise("/etc/passwd") < 0);
	CHECK(normalise("/") < 0);
	CHECK(normalise("..") < 0);
	CHECK(normalise("../x") < 0);
	CHECK(normalise("a/../b") < 0);
	CHECK(normalise("a/..") < 0);
	CHECK(normalise("./../x") < 0);
}

static void a_nul_is_refused(void)
{
	CHECK(tar_path_normalise("a\0b", 3, out, &err) < 0);
	CHECK(tar_path_normalise("a\0", 2, out, &err) < 0);
}

static void lengths_are_bounded(void)
{
	char name[TAR_PATH_MAX + 16];

	memset(name, 'x', 255);
	CHECK(tar_path_normalise(name, 255, out, &err) == 0);
	name[255] = 'x';
	CHECK(tar_path_normalise(name, 256, out, &err) < 0);
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 2 ? '/' : 'x';
	CHECK(tar_path_normalise(name, TAR_PATH_MAX - 1, out, &err) == 0);
	CHECK(strlen(out) == TAR_PATH_MAX - 1);
	CHECK(tar_path_normalise(name, TAR_PATH_MAX + 1, out, &err) < 0);
}

int main(void)
{
	RUN(spellings_become_one);
	RUN(ways_out_are_refused);
	RUN(a_nul_is_refused);
	RUN(lengths_are_bounded);
	return DONE();
}
