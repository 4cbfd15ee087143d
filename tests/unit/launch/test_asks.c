/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_asks.c - connections that wait for somebody's answer
 */
#include "launch/asks.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static int parse(const char *text, struct ask *ask)
{
	struct error err = { 0 };
	json_t *json = json_loads(text, 0, NULL);
	int result = ask_parse(json, ask, &err);

	CHECK(json && (result == 0 || err.text[0]));
	json_decref(json);
	return result;
}

static void a_name_or_an_address_is_the_target(void)
{
	char line[ASK_RULE_SIZE];
	struct ask ask;

	REQUIRE(parse("{\"id\":7,\"name\":\"a.test\",\"address\":\"192.0.2.1\","
		      "\"port\":443,\"protocol\":\"tls\"}",
		      &ask) == 0);
	CHECK(ask.net_id == 7 && !strcmp(ask.target.host, "a.test"));
	CHECK(!ask.target.address.family && ask.address.family == ADDRESS_V4);
	ask_rule(&ask, ASK_ALWAYS, line);
	CHECK(!strcmp(line, "allow a.test:443"));
	REQUIRE(parse("{\"id\":7,\"address\":\"2001:db8::1\",\"port\":1,"
		      "\"protocol\":\"tcp\"}",
		      &ask) == 0);
	ask_rule(&ask, ASK_NEVER, line);
	CHECK(!strcmp(line, "deny [2001:db8::1]:1"));
}

static void what_is_not_in_its_one_spelling_is_refused(void)
{
	static const char *const bad[] = {
		"{}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"A\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"a.\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"a b\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"a\\n\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"1.2\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"name\":\"\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"\",\"name\":\"a\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"T\",\"name\":\"a\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"abcdefghijklmnop\","
		"\"name\":\"a\"}",
		"{\"id\":1,\"port\":0,\"protocol\":\"tcp\",\"name\":\"a\"}",
		"{\"id\":1,\"port\":65536,\"protocol\":\"tcp\",\"name\":\"a\"}",
		"{\"id\":\"1\",\"port\":1,\"protocol\":\"tcp\",\"name\":\"a\"}",
		"{\"id\":1,\"port\":1,\"protocol\":\"tcp\",\"address\":\"::%"
		"1\"}",
	};
	struct ask ask;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(parse(bad[i], &ask) < 0);
}

static void numbers_are_not_used_twice_and_the_list_is_bounded(void)
{
	static struct asks asks;
	struct ask ask = { .net_id = 5, .protocol = "tcp" };
	struct ask *first = asks_add(&asks, &ask);

	REQUIRE(first && first->id == 1);
	CHECK(asks_find(&asks, 1) == first && !asks_find(&asks, 0));
	CHECK(asks_find_net(&asks, 5) == first && !asks_find_net(&asks, 6));
	*first = (struct ask){ .id = 0 };
	CHECK(!asks_find_net(&asks, 0) && !asks_find_net(&asks, 5));
	for (int i = 0; i < ASKS_MAX; i++) {
		struct ask *one = asks_add(&asks, &ask);

		CHECK(one && one->id == (uint32_t)i + 2);
	}
	CHECK(!asks_add(&asks, &ask));
	/* Around the end of the numbers 0 stays free. */
	asks.items[0].id = 0;
	asks.last_id = UINT32_MAX;
	CHECK(asks_add(&asks, &ask)->id == 1);
}

static void verdicts_are_four_words(void)
{
	static const char *const words[] = { "once", "always", "never",
					     "deny" };
	enum ask_verdict verdict;

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		CHECK(ask_verdict_parse(words[i], strlen(words[i]), &verdict) ==
		      0);
		CHECK(verdict == i && ask_allows(verdict) == (i < 2));
	}
	CHECK(ask_verdict_parse("onc", 3, &verdict) < 0);
	CHECK(ask_verdict_parse("once ", 5, &verdict) < 0);
	CHECK(ask_verdict_parse("", 0, &verdict) < 0);
}

int main(void)
{
	RUN(a_name_or_an_address_is_the_target);
	RUN(what_is_not_in_its_one_spelling_is_refused);
	RUN(numbers_are_not_used_twice_and_the_list_is_bounded);
	RUN(verdicts_are_four_words);
	return DONE();
}
