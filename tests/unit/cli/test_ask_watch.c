/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ask_watch.c - questions as they come and go
 */
#include "cli/ask_watch.h"
#include "lib/tap.h"

#define QUESTION(id)                                               \
	"{\"id\":" #id ",\"name\":\"a.example\",\"address\":null," \
	"\"port\":443,\"protocol\":\"tls\",\"ms_left\":1000}"

static struct ask_watch watch;
static struct ask front;

static int line(const char *text, int64_t now)
{
	return ask_watch_line(&watch, text, strlen(text), now);
}

static void the_first_answer_holds_those_that_wait(void)
{
	watch = ASK_WATCH_INIT;
	CHECK(line("{\"ok\":true,\"asks\":[" QUESTION(1) "," QUESTION(2) "]}",
		   100) == 0);
	CHECK(watch.count == 2 && ask_watch_front(&watch, 100, &front));
	CHECK(front.id == 1 && front.ms_left == 1000);
}

static void questions_come_and_go(void)
{
	watch = ASK_WATCH_INIT;
	CHECK(!ask_watch_front(&watch, 0, &front));
	CHECK(line("{\"ask\":" QUESTION(1) "}", 0) == 0);
	CHECK(line("{\"ask\":" QUESTION(2) "}", 0) == 0);
	CHECK(line("{\"over\":1}", 10) == 0);
	CHECK(ask_watch_front(&watch, 10, &front) && front.id == 2);
	CHECK(line("{\"over\":77}", 10) == 0 && watch.count == 1);
	ask_watch_forget(&watch, 2);
	CHECK(!ask_watch_front(&watch, 10, &front));
}

static void one_whose_time_is_over_is_not_shown(void)
{
	watch = ASK_WATCH_INIT;
	CHECK(line("{\"ask\":" QUESTION(1) "}", 5000) == 0);
	CHECK(ask_watch_front(&watch, 5999, &front) && front.ms_left == 1);
	CHECK(!ask_watch_front(&watch, 6000, &front));
}

static void told_twice_is_one(void)
{
	watch = ASK_WATCH_INIT;
	line("{\"ask\":" QUESTION(1) "}", 0);
	line("{\"ask\":" QUESTION(1) "}", 500);
	CHECK(watch.count == 1);
	CHECK(ask_watch_front(&watch, 500, &front) && front.ms_left == 1000);
}

static void nonsense_changes_nothing(void)
{
	watch = ASK_WATCH_INIT;
	CHECK(line("", 0) < 0 && line("[]", 0) < 0 && line("{}", 0) < 0);
	CHECK(line("{\"ask\":{}}", 0) < 0 && line("{\"over\":\"1\"}", 0) < 0);
	CHECK(line("{\"ok\":false,\"error\":\"x\"}", 0) < 0);
	CHECK(watch.count == 0);
}

static void the_list_has_a_bound(void)
{
	char text[256];

	watch = ASK_WATCH_INIT;
	for (int i = 0; i < 2 * ASKS_MAX; i++) {
		snprintf(text, sizeof(text),
			 "{\"ask\":{\"id\":%d,\"name\":\"a.example\","
			 "\"port\":443,\"ms_left\":1000}}",
			 i);
		CHECK(line(text, 0) == 0);
	}
	CHECK(watch.count == ASKS_MAX);
}

int main(void)
{
	RUN(the_first_answer_holds_those_that_wait);
	RUN(questions_come_and_go);
	RUN(one_whose_time_is_over_is_not_shown);
	RUN(told_twice_is_one);
	RUN(nonsense_changes_nothing);
	RUN(the_list_has_a_bound);
	return DONE();
}
