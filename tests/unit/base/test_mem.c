/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mem.c - unit tests of base/mem.h, base/own.h and base/list.h
 */
#include "base/mem.h"

#include <fcntl.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/own.h"
#include "lib/tap.h"

static void zero_bytes_are_still_memory(void)
{
	AUTO_FREE void *a = xmalloc(0);
	AUTO_FREE void *b = xcalloc(0, 8);
	AUTO_FREE void *c = xrealloc(NULL, 0);

	CHECK(a && b && c);
}

static void calloc_is_zero(void)
{
	AUTO_FREE unsigned char *memory = xcalloc(16, 4);

	for (int i = 0; i < 64; i++)
		CHECK(memory[i] == 0);
}

static void realloc_keeps_the_content(void)
{
	char *memory = xstrdup("hello");

	memory = xrealloc(memory, 4096);
	CHECK(strcmp(memory, "hello") == 0);
	free(memory);
}

static void strndup_stops_at_the_nul_and_at_the_length(void)
{
	AUTO_FREE char *a = xstrndup("hello", 2);
	AUTO_FREE char *b = xstrndup("hello", 100);
	const char bare[3] = { 'a', 'b', 'c' };
	AUTO_FREE char *c = xstrndup(bare, sizeof(bare));

	CHECK(strcmp(a, "he") == 0);
	CHECK(strcmp(b, "hello") == 0);
	CHECK(strcmp(c, "abc") == 0);
}

static void asprintf_formats_any_length(void)
{
	AUTO_FREE char *text = xasprintf("%0500d-%s", 7, "end");

	CHECK(strlen(text) == 504);
	CHECK(strcmp(text + 499, "7-end") == 0);
}

static void zero_is_told_from_one_byte_anywhere(void)
{
	unsigned char bytes[67] = { 0 };

	CHECK(mem_is_zero(bytes, 0));
	for (size_t len = 1; len <= sizeof(bytes); len++)
		CHECK(mem_is_zero(bytes, len));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		CHECK(!mem_is_zero(bytes, sizeof(bytes)));
		CHECK(mem_is_zero(bytes, i));
		bytes[i] = 0;
	}
	memset(bytes, 1, sizeof(bytes));
	CHECK(!mem_is_zero(bytes, sizeof(bytes)));
	CHECK(mem_is_zero(bytes, 0));
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void owned_descriptor_is_closed_at_the_end_of_its_scope(void)
{
	int seen;

	{
		AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		seen = fd;
		CHECK(is_open(seen));
	}
	CHECK(!is_open(seen));
}

static int take(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return TAKE_FD(fd);
}

static void taken_descriptor_stays_open(void)
{
	int fd = take();

	CHECK(is_open(fd));
	close(fd);
}

static void taken_pointer_is_left_null(void)
{
	AUTO_FREE char *from = xstrdup("x");
	AUTO_FREE char *to = TAKE_PTR(from);

	CHECK(!from);
	CHECK(to && *to == 'x');
}

struct item {
	int value;
	struct list node;
};

static void list_keeps_order_and_current_may_be_removed(void)
{
	struct list list = LIST_INIT(list);
	struct item items[4];
	int sum = 0, order = 0;

	CHECK(list_empty(&list));
	for (int i = 0; i < 4; i++) {
		items[i].value = i + 1;
		list_append(&list, &items[i].node);
	}
	LIST_FOR_EACH(node, &list) {
		struct item *item = LIST_ENTRY(node, struct item, node);

		order = order * 10 + item->value;
		if (item->value % 2)
			list_remove(node);
	}
	CHECK(order == 1234);
	LIST_FOR_EACH(node, &list) {
		sum += LIST_ENTRY(node, struct item, node)->value;
	}
	CHECK(sum == 6);
	list_remove(&items[1].node);
	list_remove(&items[1].node);
	list_remove(&items[3].node);
	CHECK(list_empty(&list));
}

int main(void)
{
	RUN(zero_bytes_are_still_memory);
	RUN(calloc_is_zero);
	RUN(realloc_keeps_the_content);
	RUN(strndup_stops_at_the_nul_and_at_the_length);
	RUN(asprintf_formats_any_length);
	RUN(zero_is_told_from_one_byte_anywhere);
	RUN(owned_descriptor_is_closed_at_the_end_of_its_scope);
	RUN(taken_descriptor_stays_open);
	RUN(taken_pointer_is_left_null);
	RUN(list_keeps_order_and_current_may_be_removed);
	return DONE();
}
