/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ask.c - questions: what is believed, drawn, and taken for an answer
 */
#include "base/buffer.h"
#include "cli/ask.h"
#include "cli/ask_screen.h"
#include "lib/tap.h"

static struct ask ask;

static int decode(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	int result = ask_decode(json, &ask);

	json_decref(json);
	return result;
}

static void a_question_names_a_host_or_an_address(void)
{
	CHECK(decode("{\"id\":7,\"name\":\"Example.COM.\",\"port\":443,"
		     "\"protocol\":\"tls\",\"ms_left\":30000}") == 0);
	CHECK(ask.id == 7 && !strcmp(ask.target, "example.com:443"));
	CHECK(ask.ms_left == 30000 && !strcmp(ask.protocol, "tls"));
	CHECK(decode("{\"id\":1,\"name\":null,\"address\":\"192.0.2.1\","
		     "\"port\":22,\"ms_left\":1}") == 0);
	CHECK(!strcmp(ask.target, "192.0.2.1:22"));
	CHECK(decode("{\"id\":1,\"address\":\"2001:db8::1\",\"port\":22,"
		     "\"ms_left\":1}") == 0);
	CHECK(!strcmp(ask.target, "[2001:db8::1]:22"));
}

static void what_is_no_question_is_refused(void)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"id\":1,\"port\":443,\"ms_left\":1}",
		"{\"id\":1,\"name\":\"a b\",\"port\":443,\"ms_left\":1}",
		"{\"id\":1,\"name\":\"a\\u001b[2J\",\"port\":443,\"ms_left\":"
		"1}",
		"{\"id\":1,\"name\":\"a.b\",\"port\":0,\"ms_left\":1}",
		"{\"id\":1,\"name\":\"a.b\",\"port\":65536,\"ms_left\":1}",
		"{\"id\":-1,\"name\":\"a.b\",\"port\":1,\"ms_left\":1}",
		"{\"id\":\"1\",\"name\":\"a.b\",\"port\":1,\"ms_left\":1}",
		"{\"id\":1,\"name\":\"a.b\",\"port\":1,\"ms_left\":-1}",
		"{\"id\":1,\"address\":\"1.2\",\"port\":1,\"ms_left\":1}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(decode(bad[i]) < 0);
	CHECK(ask_decode(NULL, &ask) < 0);
}

static void a_list_has_a_bound(void)
{
	struct ask asks[ASKS_MAX];
	json_t *list = json_array();

	for (int i = 0; i < ASKS_MAX + 5; i++)
		json_array_append_new(list, json_pack("{s:i, s:s, s:i, s:i}",
						      "id", i, "name", "a.b",
						      "port", 1, "ms_left", 1));
	json_array_insert_new(list, 0, json_null());
	CHECK(ask_decode_list(list, asks) == ASKS_MAX && asks[0].id == 0);
	CHECK(ask_decode_list(NULL, asks) == 0);
	json_decref(list);
}

/* The picture as text; until the next call. */
static const char *draw(uint16_t rows, uint16_t cols, size_t more)
{
	static struct buffer out;
	struct ask_view view = { .sandbox = "box",
				 .mark = "amber-otter-41",
				 .more = more,
				 .rows = rows,
				 .cols = cols };

	buffer_release(&out);
	buffer_init(&out, 65536);
	ask_screen_draw(&ask, &view, &out);
	return buffer_str(&out);
}

static void the_question_shows_mark_target_and_time(void)
{
	const char *text;

	CHECK(decode("{\"id\":7,\"name\":\"example.com\",\"port\":443,"
		     "\"protocol\":\"tls\\u001b]0;x\",\"ms_left\":29001}") ==
	      0);
	text = draw(24, 80, 2);
	CHECK(strstr(text, "Your mark: amber-otter-41"));
	CHECK(strstr(text, "Sandbox box wants to connect to"));
	CHECK(strstr(text, "    example.com:443"));
	CHECK(strstr(text, "adds the rule: allow example.com:443"));
	CHECK(strstr(text, "Denied in 30 s") && strstr(text, "2 more"));
	CHECK(!strstr(text, "\033]0;"));
}

/* What the guest left open is ended before the first letter of ours. */
static void it_begins_by_ending_what_the_guest_began(void)
{
	const char *text = draw(24, 80, 0);

	CHECK(text[0] == '\030' && !memcmp(text + 1, "\033\\", 2));
	CHECK(strstr(text, "\033[?1049h") < strstr(text, "bawn asks"));
	CHECK(strstr(text, "\033[2J") < strstr(text, "bawn asks"));
}

static void a_small_terminal_is_not_overrun(void)
{
	for (uint16_t rows = 1; rows < 20; rows++) {
		const char *text = draw(rows, 10, 1);
		unsigned long highest = 0;

		for (const char *at = text; (at = strstr(at, ";1H")); at++) {
			const char *from = at;

			while (from > text && from[-1] >= '0' &&
			       from[-1] <= '9')
				from--;
			if (strtoul(from, NULL, 10) > highest)
				highest = strtoul(from, NULL, 10);
		}
		CHECK(highest <= rows);
		CHECK(!strstr(text, "Sandbox box"));
	}
}

static struct ask_keys keys;

static enum ask_choice type(const char *text, int64_t now)
{
	return ask_keys_take(&keys, (const uint8_t *)text, strlen(text), now);
}

static void what_was_typed_ahead_is_no_answer(void)
{
	ask_keys_begin(&keys, 1000);
	CHECK(type("a", 1000) == ASK_NONE);
	CHECK(type("a", 1000 + ASK_QUIET_MS - 1) == ASK_NONE);
	/* the pause begins anew with each key */
	CHECK(type("a", 1000 + ASK_QUIET_MS + 1) == ASK_NONE);
	CHECK(type("a", 5000) == ASK_ALWAYS);
}

static void one_key_after_a_pause_is_an_answer(void)
{
	static const struct {
		const char *typed;
		enum ask_choice choice;
	} rows[] = {
		{ "o", ASK_ONCE },      { "a", ASK_ALWAYS },
		{ "n", ASK_NEVER },     { "d", ASK_DENY },
		{ "O", ASK_ONCE },      { "\003", ASK_DENY },
		{ "x", ASK_NONE },      { "oo", ASK_NONE },
		{ "yes", ASK_NONE },    { "\033", ASK_NONE },
		{ "\033[A", ASK_NONE }, { "\r", ASK_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ask_keys_begin(&keys, 0);
		CHECK(type(rows[i].typed, ASK_QUIET_MS) == rows[i].choice);
	}
}

static void another_key_starts_the_pause_again(void)
{
	ask_keys_begin(&keys, 0);
	CHECK(type("x", 1000) == ASK_NONE && !ask_keys_ready(&keys, 1001));
	CHECK(type("o", 1100) == ASK_NONE);
	CHECK(type("o", 3000) == ASK_ONCE);
}

static void every_choice_has_a_word(void)
{
	CHECK(!strcmp(ask_verdict(ASK_ONCE), "once"));
	CHECK(!strcmp(ask_verdict(ASK_ALWAYS), "always"));
	CHECK(!strcmp(ask_verdict(ASK_NEVER), "never"));
	CHECK(!strcmp(ask_verdict(ASK_DENY), "deny"));
	CHECK(!ask_verdict(ASK_NONE));
}

int main(void)
{
	RUN(a_question_names_a_host_or_an_address);
	RUN(what_is_no_question_is_refused);
	RUN(a_list_has_a_bound);
	RUN(the_question_shows_mark_target_and_time);
	RUN(it_begins_by_ending_what_the_guest_began);
	RUN(a_small_terminal_is_not_overrun);
	RUN(what_was_typed_ahead_is_no_answer);
	RUN(one_key_after_a_pause_is_an_answer);
	RUN(another_key_starts_the_pause_again);
	RUN(every_choice_has_a_word);
	return DONE();
}
