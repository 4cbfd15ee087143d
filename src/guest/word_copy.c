/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word_copy.c - memcpy() for an emulated CPU
 */
#include "guest/word_copy.h"

#include <stdint.h>
#include <string.h>

#define WORDS 16 /* in one round */

/* volatile: or the compiler makes vectors or a call of memcpy() of it. */
static void copy_round(volatile uint64_t *to, const volatile uint64_t *from)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < WORDS; i++)
		to[i] = from[i];
}

void word_copy(void *to, const void *from, size_t len)
{
	const size_t round = WORDS * sizeof(uint64_t);
	uint8_t *dst = to;
	const uint8_t *src = from;

	if (((uintptr_t)dst | (uintptr_t)src) % sizeof(uint64_t) == 0)
		for (; len >= round; dst += round, src += round, len -= round)
			copy_round(
				(volatile uint64_t *)(void *)dst,
				(const volatile uint64_t *)(const void *)src);
	memcpy(dst, src, len);
}
