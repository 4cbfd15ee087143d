/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha1.c - SHA-1 (FIPS 180-4), for a file format that ends with one
 */
#include "guest/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t value, int by)
{
	return value << by | value >> (32 - by);
}

static uint32_t read_word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
	if (round < 20)
		return ((b & c) | (~b & d)) + 0x5a827999;
	if (round < 40)
		return (b ^ c ^ d) + 0x6ed9eba1;
	if (round < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	return (b ^ c ^ d) + 0xca62c1d6;
}

static void take_block(uint32_t state[5], const uint8_t block[64])
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3],
		 e = state[4], words[80];

	for (int i = 0; i < 16; i++)
		words[i] = read_word(block + 4 * i);
	for (int i = 16; i < 80; i++)
		words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^
					  words[i - 16],
				  1);
	for (int i = 0; i < 80; i++) {
		uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + words[i];

		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void sha1_init(struct sha1 *sha1)
{
	*sha1 = (struct sha1){ .state = { 0x67452301, 0xefcdab89, 0x98badcfe,
					  0x10325476, 0xc3d2e1f0 } };
}

void sha1_add(struct sha1 *sha1, const void *bytes, size_t len)
{
	const uint8_t *from = bytes;

	while (len) {
		size_t used = sha1->len % sizeof(sha1->block);
		size_t part = sizeof(sha1->block) - used;

		if (part > len)
			part = len;
		memcpy(sha1->block + used, from, part);
		sha1->len += part;
		from += part;
		len -= part;
		if (used + part == sizeof(sha1->block))
			take_block(sha1->state, sha1->block);
	}
}

void sha1_finish(struct sha1 *sha1, uint8_t out[SHA1_BYTES])
{
	static const uint8_t pad[64] = { 0x80 };
	uint64_t bits = sha1->len * 8;
	size_t used = sha1->len % 64;
	uint8_t tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha1_add(sha1, pad, used < 56 ? 56 - used : 120 - used);
	sha1_add(sha1, tail, sizeof(tail));
	for (int i = 0; i < SHA1_BYTES; i++)
		out[i] = (uint8_t)(sha1->state[i / 4] >> (24 - 8 * (i % 4)));
}
