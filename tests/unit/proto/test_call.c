/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_call.c - a relay that calls, and a server that hears it
 */
#include "proto/call.h"

#include <string.h>

#include "lib/tap.h"

/* As PROTOCOL.md says: not by our encoder. */
static const uint8_t golden[CALL_BYTES] =
	"\x87\x06\x38\x43\x5f\xed\x48\x4d\x0d\xeb\x48\xf5\xa8\xa1\xd6\xe9"
	"\x80"
	"ords of a relay that was killed";
static const uint8_t marker[CALL_MARKER_BYTES] =
	"the marker of one that waits...";

static bool hear_in_two(struct call_ear *ear, const uint8_t *bytes, size_t len,
			size_t cut)
{
	bool first = call_hear(ear, bytes, cut);

	return call_hear(ear, bytes + cut, len - cut) || first;
}

static void a_call_is_encoded_as_it_is_written_down(void)
{
	uint8_t bytes[CALL_BYTES], random[CALL_WORD_BYTES];
	struct call call;

	memcpy(random, golden + CALL_HEAD_BYTES, sizeof(random));
	random[0] &= (uint8_t)~CALL_WORD_BIT;
	call_begin(&call, random);
	call_encode(&call, bytes);
	CHECK(!memcmp(bytes, golden, sizeof(bytes)));
}

static void a_call_is_heard_however_it_is_cut(void)
{
	uint8_t bytes[3 + CALL_BYTES + 5] = { 0xff, 0xff, 0xff };

	memcpy(bytes + 3, golden, CALL_BYTES);
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		struct call_ear ear = { 0 };

		CHECK(hear_in_two(&ear, bytes, sizeof(bytes), cut));
		CHECK(!memcmp(ear.word, golden + CALL_HEAD_BYTES,
			      CALL_WORD_BYTES));
		/* once: a second answer would be no frame */
		CHECK(!hear_in_two(&ear, bytes, sizeof(bytes), cut));
	}
}

static void a_call_is_heard_behind_a_part_of_one(void)
{
	uint8_t bytes[2 * CALL_BYTES];

	for (size_t part = 0; part < CALL_HEAD_BYTES; part++) {
		struct call_ear ear = { 0 };

		memcpy(bytes, golden, part);
		memcpy(bytes + part, golden, CALL_BYTES);
		CHECK(call_hear(&ear, bytes, part + CALL_BYTES));
	}
	/* A cut word takes bytes of the next call: the one after is heard. */
	for (size_t part = CALL_HEAD_BYTES; part < CALL_BYTES; part++) {
		struct call_ear ear = { 0 };

		memcpy(bytes, golden, part);
		memcpy(bytes + part, golden, CALL_BYTES);
		call_hear(&ear, bytes, part + CALL_BYTES);
		call_hear(&ear, golden, CALL_BYTES);
		CHECK(!memcmp(ear.word, golden + CALL_HEAD_BYTES,
			      CALL_WORD_BYTES));
	}
}

static void what_is_no_call_is_not_heard(void)
{
	struct call_ear ear = { 0 };
	uint8_t bytes[CALL_BYTES];

	for (size_t i = 0; i < CALL_HEAD_BYTES; i++) {
		memcpy(bytes, golden, sizeof(bytes));
		bytes[i] ^= 1;
		CHECK(!call_hear(&ear, bytes, sizeof(bytes)));
	}
	/* Its answer must not look like a frame to anybody. */
	memcpy(bytes, golden, sizeof(bytes));
	bytes[CALL_HEAD_BYTES] &= (uint8_t)~CALL_WORD_BIT;
	CHECK(!call_hear(&ear, bytes, sizeof(bytes)));
	CHECK(call_hear(&ear, golden, sizeof(golden)));
}

static void of_several_the_last_one_counts(void)
{
	uint8_t bytes[2 * CALL_BYTES], answer[CALL_ANSWER_BYTES];
	struct call_ear ear = { 0 };

	memcpy(bytes, golden, CALL_BYTES);
	memcpy(bytes + CALL_BYTES, golden, CALL_BYTES);
	bytes[sizeof(bytes) - 1] = '!';
	CHECK(call_hear(&ear, bytes, sizeof(bytes)));
	call_answer(&ear, marker, answer);
	CHECK(answer[CALL_WORD_BYTES - 1] == '!');
	CHECK(!memcmp(answer + CALL_WORD_BYTES, marker, sizeof(marker)));
}

static void an_answer_is_found_behind_anything_and_however_it_is_cut(void)
{
	uint8_t bytes[200 + CALL_ANSWER_BYTES], found[CALL_MARKER_BYTES];
	struct call_ear ear = { 0 };
	struct call call;

	call_begin(&call, golden + CALL_HEAD_BYTES);
	CHECK(call_hear(&ear, golden, sizeof(golden)));
	memset(bytes, 0x80, 200);
	call_answer(&ear, marker, bytes + 200);
	for (size_t from = 0; from <= 200; from += 25) {
		size_t len = sizeof(bytes) - from;

		for (size_t cut = 1; cut < len; cut++) {
			call_begin(&call, golden + CALL_HEAD_BYTES);
			CHECK(!call_answered(&call, bytes + from, cut, found));
			memset(found, 0, sizeof(found));
			CHECK(call_answered(&call, bytes + from + cut,
					    len - cut, found));
			CHECK(!memcmp(found, marker, sizeof(marker)));
		}
	}
	/* To another's call, or with something behind it, it is none. */
	CHECK(!call_answered(&call, "x", 1, found));
	CHECK(!call_answered(&call, "", 0, found));
	call_begin(&call, marker);
	CHECK(!call_answered(&call, bytes, sizeof(bytes), found));
}

int main(void)
{
	RUN(a_call_is_encoded_as_it_is_written_down);
	RUN(a_call_is_heard_however_it_is_cut);
	RUN(a_call_is_heard_behind_a_part_of_one);
	RUN(what_is_no_call_is_not_heard);
	RUN(of_several_the_last_one_counts);
	RUN(an_answer_is_found_behind_anything_and_however_it_is_cut);
	return DONE();
}
