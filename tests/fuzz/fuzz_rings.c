/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rings.c - whatever the other side writes into the memory, a read gives
 * no more than was asked for, and positions go on only by what passed
 *
 * The input is a row of moves: what to do, and what the other side's words are
 * meanwhile.
 */
#include "proto/rings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"

#define MOVE_BYTES (1 + sizeof(struct rings_words))

static void move(struct rings *rings, uint8_t what, uint8_t *bytes, size_t size)
{
	size_t len = (size_t)(what >> 1) * 1024 % (size + 1);
	uint32_t before = what & 1 ? rings->written : rings->read;
	long n = what & 1 ? (long)rings_write(rings, bytes, len)
			  : rings_read(rings, bytes, len);

	FUZZ_CHECK(n <= (long)len && n >= -1);
	FUZZ_CHECK((what & 1 ? rings->written : rings->read) ==
		   before + (uint32_t)(n > 0 ? n : 0));
	FUZZ_CHECK(n < 0 || (size_t)n <= RINGS_TO_GUEST_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(4096) uint8_t memory[RINGS_BYTES];
	static uint8_t bytes[RINGS_TO_GUEST_BYTES];
	struct rings rings;

	memset(memory, 0, 8192);
	rings_init(&rings, RINGS_HOST, memory);
	rings_begin_out(&rings);
	for (; size >= MOVE_BYTES; size -= MOVE_BYTES, data += MOVE_BYTES) {
		memcpy(memory, data + 1, sizeof(struct rings_words));
		move(&rings, data[0], bytes, sizeof(bytes));
		rings_must_wake(&rings, RINGS_FOR_BYTES);
		if (data[0] == 0xff)
			rings_begin_in(&rings, rings.theirs->written);
	}
	return 0;
}
