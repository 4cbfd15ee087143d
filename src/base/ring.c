/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - bounded stream buffer; backpressure lives here
 */
#include "base/ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define RING_FIRST_BYTES 4096

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
	size_t first = ring->size - start;

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

/* Memory for len bytes, which is at most the capacity. */
static void grow(struct ring *ring, size_t len)
{
	size_t size = ring->size ? ring->size : RING_FIRST_BYTES, done = 0;
	struct iovec iov[2];
	uint8_t *data;

	if (len <= ring->size)
		return;
	while (size < len)
		size *= 2;
	if (size > ring->capacity)
		size = ring->capacity;
	data = xmalloc(size);
	for (int i = 0, count = ring_readable(ring, iov); i < count; i++) {
		memcpy(data + done, iov[i].iov_base, iov[i].iov_len);
		done += iov[i].iov_len;
	}
	free(ring->data);
	ring->data = data;
	ring->size = size;
	ring->head = 0;
}

int ring_room(struct ring *ring, size_t want, struct iovec iov[2])
{
	size_t space = ring_space(ring), tail;

	if (want > space)
		want = space;
	if (!want)
		return 0;
	grow(ring, ring->len + want);
	/* An empty ring starts over: one piece is one copy less. */
	if (!ring->len)
		ring->head = 0;
	/* head + len may wrap past the end, but never past the type. */
	tail = ring->len < ring->size - ring->head
		       ? ring->head + ring->len
		       : ring->len - (ring->size - ring->head);
	return pieces(ring, tail, ring->size - ring->len, iov);
}

int ring_writable(struct ring *ring, struct iovec iov[2])
{
	return ring_room(ring, ring->capacity, iov);
}

void ring_produced(struct ring *ring, size_t len)
{
	assert(len <= ring->size - ring->len);
	ring->len += len;
}

void ring_consume(struct ring *ring, size_t len)
{
	assert(len <= ring->len);
	ring->head = len < ring->size - ring->head
			     ? ring->head + len
			     : len - (ring->size - ring->head);
	ring->len -= len;
}

size_t ring_read(struct ring *ring, void *bytes, size_t len)
{
	struct iovec iov[2];
	int count = ring_readable(ring, iov);
	uint8_t *to = bytes;
	size_t done = 0;

	for (int i = 0; i < count && done < len; i++) {
		size_t part = len - done;

		if (part > iov[i].iov_len)
			part = iov[i].iov_len;
		memcpy(to + done, iov[i].iov_base, part);
		done += part;
	}
	ring_consume(ring, done);
	return done;
}

size_t ring_write(struct ring *ring, const void *bytes, size_t len)
{
	struct iovec iov[2];
	int count = ring_room(ring, len, iov);
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
