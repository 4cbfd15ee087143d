/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tasks.c - unit tests of loop/tasks.h
 */
#include "loop/tasks.h"

#include "base/buffer.h"
#include "lib/tap.h"

static const char list_text[] = "# Tasks\n\n- [x] A-1: first\n- [ ] second\n"
				"  - [ ] below: it\n  more\n\n* [/] third\n"
				"- [] no\n- [?] no\n-[ ] no\n- [ ]no\n";

static void markdown_is_read(void)
{
	struct task_list list = TASK_LIST_INIT;

	CHECK(tasks_parse_markdown(list_text, strlen(list_text), &list, NULL) ==
	      0);
	REQUIRE(list.count == 4);
	CHECK(!strcmp(list.items[0].id, "A-1") &&
	      !strcmp(list.items[0].title, "first"));
	CHECK(list.items[0].state == TASK_DONE);
	CHECK(!strcmp(list.items[1].id, "2") &&
	      !strcmp(list.items[1].title, "second"));
	CHECK(!strcmp(list.items[2].id, "below"));
	CHECK(list.items[3].state == TASK_BEGUN);
	CHECK(tasks_open(&list) == 3 && tasks_done(&list) == 1);
	CHECK(tasks_next(&list) == &list.items[3]);
	tasks_release(&list);
}

static void markdown_is_changed(void)
{
	struct buffer out = BUFFER_INIT(4096);

	CHECK(tasks_mark(list_text, strlen(list_text), "below", TASK_DONE,
			 &out) == 0);
	CHECK(strstr(buffer_str(&out), "  - [x] below: it\n"));
	CHECK(out.len == strlen(list_text));
	buffer_release(&out);
	CHECK(tasks_mark(list_text, strlen(list_text), "nine", TASK_DONE,
			 &out) < 0);
	buffer_release(&out);
	CHECK(tasks_add("a", 1, "new\none", &out) == 0);
	CHECK(!strcmp(buffer_str(&out), "a\n- [ ] new\\x0aone\n"));
	buffer_release(&out);
	CHECK(tasks_remove(list_text, strlen(list_text), 2, &out) == 0);
	CHECK(!strcmp(buffer_str(&out),
		      "# Tasks\n\n- [x] A-1: first\n\n* [/] third\n"
		      "- [] no\n- [?] no\n-[ ] no\n- [ ]no\n"));
	buffer_release(&out);
	CHECK(tasks_remove(list_text, strlen(list_text), 5, &out) < 0);
	buffer_release(&out);
}

static int json(const char *text, struct task_list *list)
{
	*list = TASK_LIST_INIT;
	return tasks_parse_json(text, strlen(text), list, NULL);
}

static void json_is_read(void)
{
	struct task_list list;

	CHECK(json("{\"tasks\": [{\"id\": \"a\", \"title\": \"t\", \"passes\": "
		   "true}, {\"id\": 7, \"description\": \"d\", \"status\": "
		   "\"in_progress\"}, {\"name\": \"n\"}]}",
		   &list) == 0);
	REQUIRE(list.count == 3);
	CHECK(list.items[0].state == TASK_DONE);
	CHECK(!strcmp(list.items[1].id, "7") &&
	      list.items[1].state == TASK_BEGUN);
	CHECK(!strcmp(list.items[2].id, "3") &&
	      !strcmp(list.items[2].title, "n"));
	tasks_release(&list);
}

static void json_that_is_not_understood_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[1]",
		"[{\"id\": \"a b\"}]",
		"[{\"id\": -1}]",
		"[{\"status\": \"nearly\"}]",
		"[{\"id\": \"a\", \"id\": \"b\"}]",
		"[] []",
	};
	struct task_list list;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(json(bad[i], &list) < 0);
		tasks_release(&list);
	}
}

static void a_cut_list_is_harmless(void)
{
	static const char text[] = "[{\"id\": \"a\", \"status\": \"done\"}]";
	struct task_list list = TASK_LIST_INIT;

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		CHECK(tasks_parse_json(text, len, &list, NULL) < 0);
		tasks_release(&list);
	}
	for (size_t len = 0; len < sizeof(list_text) - 1; len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, list_text, len);
		CHECK(tasks_parse_markdown(copy, len, &list, NULL) == 0);
		tasks_release(&list);
		free(copy);
	}
}

static void too_many_are_refused(void)
{
	struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	struct task_list list = TASK_LIST_INIT;

	for (int i = 0; i <= TASKS_MAX; i++)
		buffer_printf(&text, "- [ ] x\n");
	CHECK(tasks_parse_markdown((char *)text.data, text.len, &list, NULL) <
	      0);
	tasks_release(&list);
	buffer_release(&text);
}

int main(void)
{
	RUN(markdown_is_read);
	RUN(markdown_is_changed);
	RUN(json_is_read);
	RUN(json_that_is_not_understood_is_refused);
	RUN(a_cut_list_is_harmless);
	RUN(too_many_are_refused);
	return DONE();
}
