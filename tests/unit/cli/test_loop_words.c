/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loop_words.c - unit tests of cli/loop_words.h
 */
#include "cli/loop_words.h"

#include "lib/tap.h"

static const char *name_at(const json_t *files, size_t at)
{
	const char *name = json_string_value(json_array_get(files, at));

	return name ? name : "";
}

static void files_are_listed_without_the_loops_own(void)
{
	static const char said[] = "17\0a\0.ralph/x\0.agent/y\0\0d/b\033[1m\0";
	uint64_t now = 0;
	json_t *files = NULL;

	CHECK(loop_words_files(said, sizeof(said) - 1, &now, &files) == 0);
	CHECK(now == 17 && json_array_size(files) == 2);
	CHECK(!strcmp(name_at(files, 0), "a"));
	CHECK(!strchr(name_at(files, 1), '\033'));
	json_decref(files);
}

static void an_answer_that_is_cut_anywhere_is_no_danger(void)
{
	static const char said[] = "1700000000000000000\0aa\0bb/cc\0";

	for (size_t len = 0; len < sizeof(said); len++) {
		char *copy = malloc(len + 1);
		uint64_t now = 0;
		json_t *files = NULL;
		int result;

		memcpy(copy, said, len);
		result = loop_words_files(copy, len, &now, &files);
		CHECK((result == 0) == (len >= 20));
		CHECK(json_array_size(files) ==
		      (size_t)(len >= 23) + (len >= 29));
		json_decref(files);
		free(copy);
	}
}

static void files_are_bounded(void)
{
	static char said[2 + 300 * 2] = "1";
	uint64_t now;
	json_t *files = NULL;

	for (size_t i = 0; i < 300; i++)
		said[2 + 2 * i] = 'x';
	CHECK(loop_words_files(said, sizeof(said), &now, &files) == 0);
	CHECK(json_array_size(files) == 200);
	json_decref(files);
}

static void tasks_come_from_two_files_and_no_other(void)
{
	const char *file;

	CHECK(loop_words_tasks("", 0, &file) == 0 && !file);
	CHECK(loop_words_tasks(".ralph/ralph-tasks.md\n- [ ] x", 29, &file) ==
	      22);
	CHECK(!strcmp(file, ".ralph/ralph-tasks.md"));
	CHECK(loop_words_tasks(".agent/tasks.json\n[]", 20, &file) == 18);
	CHECK(loop_words_tasks(".ralph/ralph-tasks.md", 21, &file) == -1);
	CHECK(loop_words_tasks("/etc/passwd\nx", 13, &file) == -1 && !file);
}

static void numbers_are_strict(void)
{
	size_t number = 7;

	CHECK(loop_words_number("12\n", 3, &number) == 0 && number == 12);
	CHECK(loop_words_number("", 0, &number) == -1);
	CHECK(loop_words_number("-1", 2, &number) == -1);
	CHECK(loop_words_number("1\0002", 3, &number) == -1);
	CHECK(loop_words_number("1234567890123456", 16, &number) == -1);
	CHECK(number == 12);
}

static void the_smallest_that_passed_is_chosen(void)
{
	const int codes[] = { 0, 1, 0, 0 };
	const size_t lines[] = { 9, 1, 4, 4 };
	const int none[] = { 1, 2 }, same[] = { 5, 5 }, stopped[] = { 1, 130 };

	CHECK(loop_words_choose(codes, lines, 4) == 2);
	CHECK(loop_words_choose(codes, lines, 1) == 0);
	CHECK(loop_words_choose(none, lines, 2) == 2);
	CHECK(loop_words_code(none, 2) == 1);
	CHECK(loop_words_code(same, 2) == 5);
	CHECK(loop_words_code(stopped, 2) == 130);
	CHECK(loop_words_code(NULL, 0) == 1);
}

int main(void)
{
	RUN(files_are_listed_without_the_loops_own);
	RUN(an_answer_that_is_cut_anywhere_is_no_danger);
	RUN(files_are_bounded);
	RUN(tasks_come_from_two_files_and_no_other);
	RUN(numbers_are_strict);
	RUN(the_smallest_that_passed_is_chosen);
	return DONE();
}
