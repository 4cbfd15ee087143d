/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_loop_tasks.c - lists of tasks that a guest wrote
 */
#include "loop/tasks.h"

#include "base/buffer.h"
#include "lib/fuzz.h"

static void change(const char *text, size_t size, const struct task_list *list)
{
	struct task_list again = TASK_LIST_INIT;
	struct buffer out = BUFFER_INIT(TASKS_BYTES_MAX);

	if (list->count &&
	    tasks_mark(text, size, list->items[0].id, TASK_DONE, &out) == 0) {
		FUZZ_CHECK(tasks_parse_markdown((char *)out.data, out.len,
						&again, NULL) == 0);
		FUZZ_CHECK(again.count == list->count);
		FUZZ_CHECK(tasks_open(&again) <= tasks_open(list));
	}
	tasks_release(&again);
	buffer_release(&out);
	if (list->count) {
		FUZZ_CHECK(tasks_remove(text, size, 1, &out) == 0);
		FUZZ_CHECK(out.len < size);
	}
	buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct task_list list = TASK_LIST_INIT;
	const char *text = (const char *)data;

	if (tasks_parse_markdown(text, size, &list, NULL) == 0)
		change(text, size, &list);
	tasks_release(&list);
	if (tasks_parse_json(text, size, &list, NULL) == 0)
		FUZZ_CHECK(tasks_open(&list) + tasks_done(&list) == list.count);
	tasks_release(&list);
	return 0;
}
