/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - bounded stream buffer; backpressure lives here
 */
#include "base/ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void ring_init(struct ring *ring, size_t capacity)
{
	*ring = (struct ring){ .capacity = capacity };
}

void ring_release(struct ring *ring)
{
	free(ring->data);
	ring_init(ring, ring->capacity);
}

size_t ring_space(const struct ring *ring)
{
	return ring->capacity - ring->len;
}

/* len bytes that begin at index start, as one or two pieces. */
static int pieces(const struct ring *ring, size_t start, size_t len,
		  struct iovec iov[2])
{
	size_t first = ring->capacity - start;

	if (!len)
		return 0;
	if (first > len)
		first = len;
	iov[0] = (struct iovec){ ring->data + start, first };
	if (first == len)
		return 1;
	iov[1] = (struct iovec){ ring->data, len - first };
	return 2;
}

int ring_readable(const struct ring *ring, struct iovec iov[2])
{
	return pieces(ring, ring->head, ring->len, iov);
}

int ring_writable(struct ring *ring, struct iovec iov[2])
{
	size_t space = ring_space(ring);
	size_t tail;

	if (!space)
		return 0;
	if (!ring->data)
		ring->data = xmalloc(ring->capacity);
	/* An empty ring starts over: one piece is one copy less. */
	if (!ring->len)
		ring->head = 0;
	/* head + len may wrap past the end, but never past the type. */
	tail = ring->len < ring->capacity - ring->head
		       ? ring->head + ring->len
		       : ring->len - (ring->capacity - ring->head);
	return pieces(ring, tail, space, iov);
}

void ring_produced(struct ring *ring, size_t len)
{
	assert(len <= ring_space(ring));
	ring->len += len;
}

void ring_consume(struct ring *ring, size_t len)
{
	assert(len <= ring->len);
	ring->head = len < ring->capacity - ring->head
			     ? ring->head + len
			     : len - (ring->capacity - ring->head);
	ring->len -= len;
}

size_t ring_write(struct ring *ring, const void *bytes, size_t len)
{
	struct iovec iov[2];
	int count = ring_writable(ring, iov);
	const uint8_t *from = bytes;
	size_t done = 0;

	for (int i = 0; i < count && done < len; i++) {
		size_t part = len - done;

		if (part > iov[i].iov_len)
			part = iov[i].iov_len;
		memcpy(iov[i].iov_base, from + done, part);
		done += part;
	}
	ring_produced(ring, done);
	return done;
}

void ring_trim(struct ring *ring)
{
	if (!ring->len)
		ring_release(ring);
}

ssize_t ring_drain_to(struct ring *ring, int fd)
{
	struct iovec iov[2];
	int count = ring_readable(ring, iov);
	ssize_t put = count ? writev(fd, iov, count) : 0;

	if (put > 0)
		ring_consume(ring, (size_t)put);
	return put;
}
