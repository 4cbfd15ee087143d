/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.c - the files port's bytes, in memory that both sides have
 */
#include "proto/rings.h"

#include <string.h>

/* The words of each side, then the rings. */
#define HOST_WORDS 4096u
#define TO_HOST (128u << 10)
#define TO_GUEST (256u << 10)

_Static_assert(TO_HOST + RINGS_TO_HOST_BYTES <= TO_GUEST &&
		       TO_GUEST + RINGS_TO_GUEST_BYTES <= RINGS_BYTES,
	       "the rings lie in their memory, and apart");

void rings_init(struct rings *rings, enum rings_side side, void *memory)
{
	uint8_t *bytes = memory;
	struct rings_words *guest = memory;
	struct rings_words *host = (void *)(bytes + HOST_WORDS);
	bool is_host = side == RINGS_HOST;

	*rings = (struct rings){
		.mine = is_host ? host : guest,
		.theirs = is_host ? guest : host,
		.out = bytes + (is_host ? TO_GUEST : TO_HOST),
		.in = bytes + (is_host ? TO_HOST : TO_GUEST),
		.out_bytes =
			is_host ? RINGS_TO_GUEST_BYTES : RINGS_TO_HOST_BYTES,
		.in_bytes =
			is_host ? RINGS_TO_HOST_BYTES : RINGS_TO_GUEST_BYTES,
	};
}

static uint32_t look(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void tell(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

uint32_t rings_begin_out(struct rings *rings)
{
	rings->written = look(&rings->theirs->read);
	tell(&rings->mine->written, rings->written);
	return rings->written;
}

void rings_begin_in(struct rings *rings, uint32_t start)
{
	rings->read = start;
	tell(&rings->mine->read, start);
}

/* How much of a piece lies before the ring's end. */
static size_t before_end(uint32_t at, uint32_t bytes, size_t len)
{
	size_t left = bytes - at % bytes;

	return len < left ? len : left;
}

size_t rings_write(struct rings *rings, const void *bytes, size_t len)
{
	uint32_t under_way = rings->written - look(&rings->theirs->read);
	size_t room =
		under_way > rings->out_bytes ? 0 : rings->out_bytes - under_way;
	size_t first;

	if (len > room)
		len = room;
	first = before_end(rings->written, rings->out_bytes, len);
	memcpy(rings->out + rings->written % rings->out_bytes, bytes, first);
	memcpy(rings->out, (const uint8_t *)bytes + first, len - first);
	rings->written += (uint32_t)len;
	tell(&rings->mine->written, rings->written);
	return len;
}

bool rings_ready(const struct rings *rings)
{
	return look(&rings->theirs->written) != rings->read;
}

long rings_read(struct rings *rings, void *bytes, size_t len)
{
	uint32_t there = look(&rings->theirs->written) - rings->read;
	size_t first;

	if (there > rings->in_bytes)
		return -1;
	if (len > there)
		len = there;
	first = before_end(rings->read, rings->in_bytes, len);
	memcpy(bytes, rings->in + rings->read % rings->in_bytes, first);
	memcpy((uint8_t *)bytes + first, rings->in, len - first);
	rings->read += (uint32_t)len;
	tell(&rings->mine->read, rings->read);
	return (long)len;
}

void rings_sleep(struct rings *rings, enum rings_sleep wants)
{
	tell(&rings->mine->sleeps, wants);
	if (wants)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool rings_must_wake(const struct rings *rings, enum rings_sleep what)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return look(&rings->theirs->sleeps) >= what;
}
