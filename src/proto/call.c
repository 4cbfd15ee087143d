/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - how a relay that was killed hears the server's marker
 */
#include "proto/call.h"

#include <string.h>

/*
 * Chosen by lot: no file and no upload has them by chance. The first byte comes
 * once, so that a search which fails begins anew with the byte at hand.
 */
static const uint8_t head[CALL_HEAD_BYTES] = {
	0x87, 0x06, 0x38, 0x43, 0x5f, 0xed, 0x48, 0x4d,
	0x0d, 0xeb, 0x48, 0xf5, 0xa8, 0xa1, 0xd6, 0xe9,
};

/* Uses some of the bytes for the search of the head; returns how many. */
static size_t find_head(struct call_ear *ear, const uint8_t *bytes, size_t len)
{
	if (ear->seen == 0) {
		const uint8_t *first = memchr(bytes, head[0], len);

		ear->seen = first != NULL;
		return first ? (size_t)(first - bytes) + 1 : len;
	}
	if (bytes[0] == head[ear->seen])
		ear->seen++;
	else
		ear->seen = bytes[0] == head[0];
	return 1;
}

static size_t take_word(struct call_ear *ear, const uint8_t *bytes, size_t len)
{
	if (len > CALL_BYTES - ear->seen)
		len = CALL_BYTES - ear->seen;
	memcpy(ear->coming + ear->seen - CALL_HEAD_BYTES, bytes, len);
	ear->seen += len;
	return len;
}

bool call_hear(struct call_ear *ear, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	bool fresh = false;

	while (len > 0) {
		size_t used = ear->seen < CALL_HEAD_BYTES
				      ? find_head(ear, at, len)
				      : take_word(ear, at, len);

		at += used;
		len -= used;
		if (ear->seen < CALL_BYTES)
			continue;
		ear->seen = 0;
		if (!(ear->coming[0] & CALL_WORD_BIT) ||
		    !memcmp(ear->coming, ear->word, CALL_WORD_BYTES))
			continue;
		memcpy(ear->word, ear->coming, CALL_WORD_BYTES);
		fresh = true;
	}
	return fresh;
}

void call_answer(const struct call_ear *ear,
		 const uint8_t marker[CALL_MARKER_BYTES],
		 uint8_t bytes[CALL_ANSWER_BYTES])
{
	memcpy(bytes, ear->word, CALL_WORD_BYTES);
	memcpy(bytes + CALL_WORD_BYTES, marker, CALL_MARKER_BYTES);
}

void call_begin(struct call *call, const uint8_t random[CALL_WORD_BYTES])
{
	memcpy(call->word, random, CALL_WORD_BYTES);
	call->word[0] |= CALL_WORD_BIT;
	call->tail_len = 0;
}

void call_encode(const struct call *call, uint8_t bytes[CALL_BYTES])
{
	memcpy(bytes, head, CALL_HEAD_BYTES);
	memcpy(bytes + CALL_HEAD_BYTES, call->word, CALL_WORD_BYTES);
}

bool call_answered(struct call *call, const void *bytes, size_t len,
		   uint8_t marker[CALL_MARKER_BYTES])
{
	size_t keep = sizeof(call->tail), old;

	if (len > keep) {
		bytes = (const uint8_t *)bytes + len - keep;
		len = keep;
	}
	old = call->tail_len < keep - len ? call->tail_len : keep - len;
	memmove(call->tail, call->tail + call->tail_len - old, old);
	memcpy(call->tail + old, bytes, len);
	call->tail_len = old + len;
	if (call->tail_len < keep ||
	    memcmp(call->tail, call->word, CALL_WORD_BYTES) != 0)
		return false;
	memcpy(marker, call->tail + CALL_WORD_BYTES, CALL_MARKER_BYTES);
	return true;
}
