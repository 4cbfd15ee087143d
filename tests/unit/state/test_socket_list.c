/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_socket_list.c - which Unix sockets of the host a sandbox may connect to
 */
#include "state/socket_list.h"

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

static int decode(const char *text, struct socket_list *list, struct error *err)
{
	json_t *json = json_loads(text, 0, NULL);
	int result = socket_list_decode(json, list, err);

	json_decref(json);
	return result;
}

static void a_list_survives_the_round_trip(void)
{
	struct socket_list list, again;
	struct error err = { 0 };
	json_t *json;

	REQUIRE(decode("[{\"host\":\"/run/a\",\"guest\":\"/b\"},"
		       "{\"host\":\"/run/a\",\"guest\":\"/c\"}]",
		       &list, &err) == 0);
	json = socket_list_encode(&list);
	REQUIRE(socket_list_decode(json, &again, &err) == 0);
	json_decref(json);
	REQUIRE(again.count == 2);
	CHECK(!strcmp(again.items[1].host, "/run/a"));
	CHECK(!strcmp(again.items[1].guest, "/c"));
	socket_list_release(&again);
	socket_list_copy(&again, &list);
	CHECK(again.count == 2 && !strcmp(again.items[0].guest, "/b"));
	socket_list_release(&again);
	socket_list_release(&list);
}

static void what_is_no_pair_of_paths_is_refused(void)
{
	static const char *const bad[] = {
		"1",
		"[1]",
		"[{\"host\":\"a\",\"guest\":\"/b\"}]",
		"[{\"host\":\"/a\",\"guest\":\"\"}]",
		"[{\"host\":\"/a\"}]",
		"[{\"host\":\"/a\",\"guest\":\"/b\",\"c\":1}]",
		"[{\"host\":\"/a\",\"guest\":\"/b\"},"
		"{\"host\":\"/c\",\"guest\":\"/b\"}]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct socket_list list;
		struct error err = { 0 };

		CHECK(decode(bad[i], &list, &err) < 0);
		CHECK(err.text[0] && !list.count);
	}
}

static void long_paths_and_long_lists_are_refused(void)
{
	struct socket_list list = { .count = 0 };
	char host[SOCKET_PATH_MAX + 1], guest[SOCKET_GUEST_MAX + 1];
	struct socket_record one = { host, guest };

	memset(host, 'h', sizeof(host));
	memset(guest, 'g', sizeof(guest));
	host[0] = guest[0] = '/';
	host[SOCKET_PATH_MAX] = guest[SOCKET_GUEST_MAX - 1] = '\0';
	CHECK(socket_list_add(&list, &one, NULL) < 0);
	host[SOCKET_PATH_MAX - 1] = '\0';
	CHECK(socket_list_add(&list, &one, NULL) == 0);
	for (int i = 1; i < SOCKET_LIST_MAX; i++) {
		text_format(guest, sizeof(guest), "/%d", i);
		CHECK(socket_list_add(&list, &one, NULL) == 0);
	}
	text_format(guest, sizeof(guest), "/more");
	CHECK(socket_list_add(&list, &one, NULL) < 0);
	memset(guest, 'g', sizeof(guest));
	guest[0] = '/';
	guest[SOCKET_GUEST_MAX] = '\0';
	CHECK(socket_list_add(&list, &one, NULL) < 0);
	socket_list_release(&list);
}

int main(void)
{
	RUN(a_list_survives_the_round_trip);
	RUN(what_is_no_pair_of_paths_is_refused);
	RUN(long_paths_and_long_lists_are_refused);
	return DONE();
}
