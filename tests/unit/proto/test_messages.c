/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_messages.c - bounds and values of messages; their bytes are in
 * tests/protocol
 */
#include "proto/messages.h"

#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"
#include "proto/frame.h"

static struct message start_with(uint32_t argc, const char *args)
{
	struct message message = { .type = MESSAGE_SESSION_START };

	message.session_start.argv.count = argc;
	message.session_start.argv.first = args;
	return message;
}

static void null_strings_are_sent_empty(void)
{
	struct message message = start_with(0, NULL), again;
	uint8_t bytes[256];
	long len = message_encode(&message, bytes, sizeof(bytes));

	REQUIRE(len > 0);
	REQUIRE(message_decode(bytes, (size_t)len, &again) == 0);
	CHECK(!again.session_start.user[0] && !again.session_start.folder[0]);
	CHECK(message_string_next(&again.session_start.argv, NULL) == NULL);
}

static void a_list_is_walked_to_its_end(void)
{
	struct message message = start_with(3, "a\0\0ccc"), again;
	uint8_t bytes[256];
	long len = message_encode(&message, bytes, sizeof(bytes));

	REQUIRE(len > 0 && !message_decode(bytes, (size_t)len, &again));
	for (int decoded = 0; decoded < 2; decoded++) {
		const struct message_strings *list =
			decoded ? &again.session_start.argv
				: &message.session_start.argv;
		const char *text = message_string_next(list, NULL);

		CHECK(text && !strcmp(text, "a"));
		text = message_string_next(list, text);
		CHECK(text && !strcmp(text, ""));
		text = message_string_next(list, text);
		CHECK(text && !strcmp(text, "ccc"));
		CHECK(!message_string_next(list, text));
	}
}

static void too_many_strings_are_refused_both_ways(void)
{
	AUTO_FREE char *empty = xcalloc(1, MESSAGE_ARGS_MAX + 1);
	AUTO_FREE uint8_t *bytes = xcalloc(1, FRAME_MESSAGE_MAX);
	struct message message = start_with(MESSAGE_ARGS_MAX, empty), again;
	long len = message_encode(&message, bytes, FRAME_MESSAGE_MAX);
	size_t count_at = 2 + 4 * 4 + 2 * 2 + 2;

	REQUIRE(len > 0);
	CHECK(message_decode(bytes, (size_t)len, &again) == 0);
	CHECK(again.session_start.argv.count == MESSAGE_ARGS_MAX);
	bytes[count_at]++; /* 4,097, and a byte for it */
	CHECK(message_decode(bytes, (size_t)len + 1, &again) == -1);
	message.session_start.argv.count++;
	CHECK(message_encode(&message, bytes, FRAME_MESSAGE_MAX) == -1);
}

static void a_count_without_strings_is_refused(void)
{
	struct message message = start_with(1, "x"), again;
	uint8_t bytes[64];
	long len = message_encode(&message, bytes, sizeof(bytes));
	size_t count_at = 2 + 4 * 4 + 2 * 2 + 2;

	REQUIRE(len > 0);
	bytes[count_at + 2] = 0x10;
	CHECK(message_decode(bytes, (size_t)len, &again) == -1);
	memset(bytes + count_at, 0xff, 4);
	CHECK(message_decode(bytes, (size_t)len, &again) == -1);
}

static void values_outside_their_enum_are_refused(void)
{
	struct message message = { .type = MESSAGE_SESSION_STARTED }, again;
	uint8_t bytes[64];
	long len;

	message.session_started.stage = SESSION_STAGE_OTHER + 1;
	len = message_encode(&message, bytes, sizeof(bytes));
	CHECK(message_decode(bytes, (size_t)len, &again) == -1);

	message = start_with(0, NULL);
	message.session_start.flags = 16;
	len = message_encode(&message, bytes, sizeof(bytes));
	CHECK(message_decode(bytes, (size_t)len, &again) == -1);

	message = (struct message){ .type = MESSAGE_HELLO };
	len = message_encode(&message, bytes, sizeof(bytes));
	CHECK(message_decode(bytes, (size_t)len, &again) == 0);
	bytes[len - 1] = 2; /* primed */
	CHECK(message_decode(bytes, (size_t)len, &again) == -1);
}

static void a_problem_is_bounded_both_ways(void)
{
	struct message message = { .type = MESSAGE_AWAKE }, again;
	char text[MESSAGE_PROBLEM_BYTES + 2];
	uint8_t bytes[MESSAGE_PROBLEM_BYTES + 8];
	long len;

	memset(text, 'x', sizeof(text));
	text[MESSAGE_PROBLEM_BYTES] = '\0';
	message.awake.problem = text;
	len = message_encode(&message, bytes, sizeof(bytes));
	REQUIRE(len == 2 + MESSAGE_PROBLEM_BYTES + 1);
	CHECK(message_decode(bytes, (size_t)len, &again) == 0);
	CHECK(!strcmp(again.awake.problem, text));
	bytes[len - 1] = 'x';
	bytes[len] = '\0';
	CHECK(message_decode(bytes, (size_t)len + 1, &again) == -1);
	text[MESSAGE_PROBLEM_BYTES] = 'x';
	text[MESSAGE_PROBLEM_BYTES + 1] = '\0';
	CHECK(message_encode(&message, bytes, sizeof(bytes)) == -1);
}

static void unknown_types_are_refused(void)
{
	struct message message = { .type = MESSAGE_TYPES }, again;
	uint8_t bytes[8] = { 0 };

	CHECK(message_encode(&message, bytes, sizeof(bytes)) == -1);
	message.type = (enum message_type)0;
	CHECK(message_encode(&message, bytes, sizeof(bytes)) == -1);
	CHECK(message_decode(bytes, 2, &again) == -1);
	bytes[0] = MESSAGE_TYPES;
	CHECK(message_decode(bytes, 2, &again) == -1);
	bytes[0] = MESSAGE_PREPARED;
	CHECK(message_decode(bytes, 2, &again) == 0);
	bytes[1] = 1;
	CHECK(message_decode(bytes, 2, &again) == -1);
	CHECK(message_decode(NULL, 0, &again) == -1);
}

static void every_type_has_a_name(void)
{
	for (int type = MESSAGE_HELLO; type < MESSAGE_TYPES; type++)
		CHECK(strcmp(message_name((enum message_type)type), "unknown"));
	CHECK(!strcmp(message_name(MESSAGE_STATS), "STATS"));
	CHECK(!strcmp(message_name((enum message_type)999), "unknown"));
}

int main(void)
{
	RUN(null_strings_are_sent_empty);
	RUN(a_list_is_walked_to_its_end);
	RUN(too_many_strings_are_refused_both_ways);
	RUN(a_count_without_strings_is_refused);
	RUN(values_outside_their_enum_are_refused);
	RUN(a_problem_is_bounded_both_ways);
	RUN(unknown_types_are_refused);
	RUN(every_type_has_a_name);
	return DONE();
}
