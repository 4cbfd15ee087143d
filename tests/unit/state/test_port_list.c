/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_port_list.c - which ports of a sandbox are published on the host
 */
#include "state/port_list.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static int decode(const char *text, struct port_list *list, struct error *err)
{
	json_t *json = json_loads(text, 0, NULL);
	int result = port_list_decode(json, list, err);

	json_decref(json);
	return result;
}

static void a_list_survives_the_round_trip_with_one_text_an_address(void)
{
	struct port_list list, again;
	struct error err = { 0 };
	json_t *json;

	REQUIRE(decode("[{\"address\":\"127.0.0.1\",\"host\":1,\"guest\":65535}"
		       ","
		       "{\"address\":\"0:0::1\",\"host\":1,\"guest\":2}]",
		       &list, &err) == 0);
	REQUIRE(list.count == 2);
	CHECK(!strcmp(list.items[1].address, "::1"));
	json = port_list_encode(&list);
	REQUIRE(port_list_decode(json, &again, &err) == 0);
	json_decref(json);
	for (size_t i = 0; i < 2; i++)
		CHECK(port_record_same(&list.items[i], &again.items[i]));
	CHECK(port_list_find(&list, "::1", 1) == &list.items[1]);
	CHECK(!port_list_find(&list, "::1", 2));
	port_list_remove(&list, 0);
	CHECK(list.count == 1 && !strcmp(list.items[0].address, "::1"));
}

static void what_is_no_port_is_refused(void)
{
	static const char *const bad[] = {
		"{}",
		"[1]",
		"[{\"address\":\"localhost\",\"host\":1,\"guest\":1}]",
		"[{\"address\":\"\",\"host\":1,\"guest\":1}]",
		"[{\"address\":\"fe80::1%lo\",\"host\":1,\"guest\":1}]",
		"[{\"address\":\"127.1\",\"host\":1,\"guest\":1}]",
		"[{\"address\":\"::1\",\"host\":0,\"guest\":1}]",
		"[{\"address\":\"::1\",\"host\":1,\"guest\":0}]",
		"[{\"address\":\"::1\",\"host\":65536,\"guest\":1}]",
		"[{\"address\":\"::1\",\"host\":-1,\"guest\":1}]",
		"[{\"address\":\"::1\",\"host\":\"1\",\"guest\":1}]",
		"[{\"address\":\"::1\",\"host\":1}]",
		"[{\"address\":\"::1\",\"host\":1,\"guest\":1,\"x\":1}]",
		"[{\"address\":\"::1\",\"host\":1,\"guest\":1},"
		"{\"address\":\"::1\",\"host\":1,\"guest\":2}]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct port_list list;
		struct error err = { 0 };

		if (decode(bad[i], &list, &err) == 0)
			printf("# %s\n", bad[i]);
		CHECK(err.text[0] && !list.count);
	}
}

static void a_full_list_takes_no_more(void)
{
	struct port_list list = { .count = 0 };
	struct port_record port = { "127.0.0.1", 1, 1 };

	for (unsigned i = 0; i < PORT_LIST_MAX; i++, port.host++)
		CHECK(port_list_add(&list, &port) == 0);
	CHECK(port_list_add(&list, &port) < 0);
	CHECK(list.count == PORT_LIST_MAX);
}

int main(void)
{
	RUN(a_list_survives_the_round_trip_with_one_text_an_address);
	RUN(what_is_no_port_is_refused);
	RUN(a_full_list_takes_no_more);
	return DONE();
}
