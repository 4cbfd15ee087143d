/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - how a relay that was killed hears the server's marker (PROTOCOL.md)
 *
 * What its predecessor had read died with it: a marker, or the WELCOME that
 * told the next one. So a new relay calls: CALL_HEAD, which nothing else on a
 * port has, and 32 random bytes, its word. A server that waits for the echo of
 * its marker answers with the word and its marker. Pure; of both ports.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_HEAD_BYTES 16
#define CALL_WORD_BYTES 32
#define CALL_MARKER_BYTES 32
#define CALL_BYTES (CALL_HEAD_BYTES + CALL_WORD_BYTES)
#define CALL_ANSWER_BYTES (CALL_WORD_BYTES + CALL_MARKER_BYTES)
/* Of a word's first byte: neither a frame nor a record begins like this. */
#define CALL_WORD_BIT 0x80

/* The server's: zeros at first. */
struct call_ear {
	size_t seen;                     /* bytes of a call */
	uint8_t coming[CALL_WORD_BYTES]; /* its word, as far as it came */
	uint8_t word[CALL_WORD_BYTES];   /* of the last call */
};

/*
 * All that comes while the marker is waited for. True: there was a call with
 * another word than the last time, ear->word. Who calls again before the
 * answer came gets one answer, because a second one would be no frame.
 */
bool call_hear(struct call_ear *ear, const void *bytes, size_t len);
void call_answer(const struct call_ear *ear,
		 const uint8_t marker[CALL_MARKER_BYTES],
		 uint8_t bytes[CALL_ANSWER_BYTES]);

/* The relay's. */
struct call {
	uint8_t word[CALL_WORD_BYTES];
	uint8_t tail[CALL_ANSWER_BYTES]; /* the last that came */
	size_t tail_len;
};

void call_begin(struct call *call, const uint8_t random[CALL_WORD_BYTES]);
void call_encode(const struct call *call, uint8_t bytes[CALL_BYTES]);
/* All that came since. True: it ends in the answer, with this marker. */
bool call_answered(struct call *call, const void *bytes, size_t len,
		   uint8_t marker[CALL_MARKER_BYTES]);
