/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hosts_file.c - names and addresses in /etc/hosts
 */
#include "launch/hosts_file.h"

#include "base/own.h"
#include "lib/tap.h"

struct list {
	char text[1024];
	size_t len;
};

static void add(void *ctx, const char *name, const struct address *address)
{
	struct list *list = ctx;
	char one[ADDRESS_TEXT_SIZE];

	address_format(address, one);
	list->len += (size_t)snprintf(list->text + list->len,
				      sizeof(list->text) - list->len, "%s=%s ",
				      name, one);
}

static void names_are_canonical_and_in_order(void)
{
	static const struct {
		const char *file, *want;
	} cases[] = {
		{ "127.0.0.1\tlocalhost\n", "localhost=127.0.0.1 " },
		{ "192.0.2.1 One.Example. two # three\n",
		  "one.example=192.0.2.1 two=192.0.2.1 " },
		{ "::1 ip6-localhost ip6-loopback",
		  "ip6-localhost=::1 ip6-loopback=::1 " },
		{ "#192.0.2.1 a\n192.0.2.1 #a\n\n192.0.2.1\n", "" },
		{ "192.0.2.300 a\n1.2.3 b\nc 192.0.2.1\nfe80::1%lo0 d\n", "" },
		{ "192.0.2.1 -a a..b a%b a/b 1.2 ok\n", "ok=192.0.2.1 " },
		{ "192.0.2.1 a\n192.0.2.2 a\n", "a=192.0.2.1 a=192.0.2.2 " },
		{ "0.0.0.0 ads.example\r\n", "ads.example=0.0.0.0 " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct list list = { .len = 0 };

		hosts_file_parse(cases[i].file, strlen(cases[i].file), 100, add,
				 &list);
		if (strcmp(list.text, cases[i].want))
			printf("# %zu: %s\n", i, list.text);
		CHECK(!strcmp(list.text, cases[i].want));
	}
}

static void the_number_of_entries_is_bounded(void)
{
	static const char file[] = "192.0.2.1 a b c\n192.0.2.2 d e f\n";
	struct list list = { .len = 0 };

	CHECK(hosts_file_parse(file, sizeof(file) - 1, 2, add, &list) == 2);
	CHECK(hosts_file_parse(file, sizeof(file) - 1, 5, add, &list) == 5);
	CHECK(hosts_file_parse(file, sizeof(file) - 1, 0, add, &list) == 0);
	for (size_t len = 0; len < sizeof(file); len++) {
		list.len = 0;
		CHECK(hosts_file_parse(file, len, 100, add, &list) <= 6);
	}
}

int main(void)
{
	RUN(names_are_canonical_and_in_order);
	RUN(the_number_of_entries_is_bounded);
	return DONE();
}
