/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_word_copy.c - unit tests of guest/word_copy.h
 */
#include "guest/word_copy.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/tap.h"

#define ROOM 512
#define LEN_MAX 400 /* some rounds and a rest */

/* True when exactly these bytes arrived, wherever they lie in a word. */
static bool arrives(size_t to, size_t from, size_t len)
{
	_Alignas(8) uint8_t src[ROOM], dst[ROOM], want[ROOM];

	for (size_t i = 0; i < ROOM; i++) {
		src[i] = (uint8_t)(i * 7 + 1);
		dst[i] = want[i] = 0xee;
	}
	memcpy(want + to, src + from, len);
	word_copy(dst + to, src + from, len);
	return memcmp(want, dst, ROOM) == 0;
}

static void every_length_arrives_and_nothing_more(void)
{
	unsigned wrong = 0;

	for (size_t len = 0; len <= LEN_MAX; len++)
		wrong += !arrives(16, 24, len);
	CHECK(wrong == 0);
}

static void every_place_will_do(void)
{
	unsigned wrong = 0;

	for (size_t to = 0; to < 16; to++)
		for (size_t from = 0; from < 16; from++)
			wrong += !arrives(to, from, LEN_MAX - 1);
	CHECK(wrong == 0);
}

int main(void)
{
	RUN(every_length_arrives_and_nothing_more);
	RUN(every_place_will_do);
	return DONE();
}
