/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clone_modules.c - what a guest says of its submodules
 */
#include "cli/clone_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"

static const char lines[] = "cloned libs/a\nnonsense\nabsent b c\n"
			    "failed d\ncloned \ncloned e\n";

static struct clone_modules *hear(const char *text, size_t len)
{
	struct clone_modules *modules = xcalloc(1, sizeof(*modules));

	clone_modules_hear(modules, (const uint8_t *)text, len);
	return modules;
}

static bool next_is(const struct clone_modules *modules, size_t *at,
		    enum clone_module_state state, const char *path)
{
	struct clone_module one;

	return clone_modules_next(modules, at, &one) && one.state == state &&
	       one.len == strlen(path) && !memcmp(one.path, path, one.len);
}

static void each_is_read_and_nonsense_is_not(void)
{
	AUTO_FREE struct clone_modules *said = hear(lines, strlen(lines));
	struct clone_module one;
	size_t at = 0;

	CHECK(next_is(said, &at, CLONE_MODULE_CLONED, "libs/a"));
	CHECK(next_is(said, &at, CLONE_MODULE_ABSENT, "b c"));
	CHECK(next_is(said, &at, CLONE_MODULE_FAILED, "d"));
	CHECK(next_is(said, &at, CLONE_MODULE_CLONED, "e"));
	CHECK(!clone_modules_next(said, &at, &one));
}

static void a_cut_line_is_none(void)
{
	for (size_t len = 0; len < strlen(lines); len++) {
		AUTO_FREE struct clone_modules *said = hear(lines, len);
		struct clone_module one;
		size_t at = 0, count = 0;

		while (clone_modules_next(said, &at, &one))
			count++;
		CHECK(at <= len && count <= 3);
		CHECK((count > 0) == (len > strlen("cloned libs/a")));
	}
}

static void too_much_is_not_kept(void)
{
	AUTO_FREE struct clone_modules *said = hear("", 0);
	struct clone_module one;
	size_t at = 0, count = 0;

	for (int i = 0; i < 2000; i++)
		clone_modules_hear(said, (const uint8_t *)lines, strlen(lines));
	CHECK(said->len < CLONE_MODULES_BYTES);
	while (clone_modules_next(said, &at, &one))
		count++;
	CHECK(count > 4 && at <= said->len);
}

int main(void)
{
	RUN(each_is_read_and_nonsense_is_not);
	RUN(a_cut_line_is_none);
	RUN(too_much_is_not_kept);
	return DONE();
}
