/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_guard_file.c - lines of the guard's list, and what is wrong with them
 */
#include "state/guard_file.h"

#include "base/error.h"
#include "lib/tap.h"

static int parse(struct guard_file *file, const char *text, struct error *err)
{
	*file = (struct guard_file){ 0 };
	return guard_file_parse(file, text, strlen(text), "list", err);
}

static void classes_go_into_their_lists(void)
{
	struct guard_file file;
	struct error err;

	CHECK(parse(&file,
		    "# why\n\nheld .envrc\nfree\t a/b  \r\nshown Makefile",
		    &err) == 0);
	REQUIRE(file.held_count == 2 && file.shown_count == 1);
	CHECK(strcmp(file.held[0], ".envrc") == 0);
	CHECK(strcmp(file.held[1], "!a/b") == 0);
	CHECK(strcmp(file.shown[0], "Makefile") == 0);
	guard_file_release(&file);
}

static void a_wrong_line_is_named(void)
{
	static const char *const wrong[] = { "held a\nhold b\n", "x\nheld\n",
					     "#\nheld !a\n", "\nheld a\001b\n",
					     "#\nheld  \n" };
	struct guard_file file;
	struct error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		err = (struct error){ 0 };
		CHECK(parse(&file, wrong[i], &err) < 0);
		CHECK(strncmp(err.text, i == 1 ? "list:1:" : "list:2:", 7) ==
		      0);
		guard_file_release(&file);
	}
	err = (struct error){ 0 };
	CHECK(guard_file_parse(&file, "held a\0b\n", 9, "list", &err) < 0);
	guard_file_release(&file);
}

static void the_installed_list_is_well_formed(void)
{
	struct guard_file file;
	struct error err = { 0 };

	CHECK(guard_file_load(&file, &err) == 0);
	if (err.text[0])
		printf("# %s\n", err.text);
	CHECK(file.held_count > 50 && file.shown_count > 50);
	guard_file_release(&file);
}

int main(void)
{
	RUN(classes_go_into_their_lists);
	RUN(a_wrong_line_is_named);
	RUN(the_installed_list_is_well_formed);
	return DONE();
}
