/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - bounded stream buffer; backpressure lives here
 *
 * Fixed capacity, chosen at creation; memory is taken as it is needed and given
 * back by ring_trim() when the ring is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ring {
	uint8_t *data; /* owned */
	size_t capacity;
	size_t size; /* memory taken so far, at most capacity */
	size_t head; /* private: index of the first byte */
	size_t len;
};

void ring_init(struct ring *ring, size_t capacity);
void ring_release(struct ring *ring);
size_t ring_space(const struct ring *ring);
/* Copies what fits; returns how many bytes were taken. */
size_t ring_write(struct ring *ring, const void *bytes, size_t len);
/* Copies and consumes at most len bytes; returns how many. */
size_t ring_read(struct ring *ring, void *bytes, size_t len);
/* The readable bytes as one or two pieces; returns the number of pieces. */
int ring_readable(const struct ring *ring, struct iovec iov[2]);
/* The free space as one or two pieces; returns the number of pieces. */
int ring_writable(struct ring *ring, struct iovec iov[2]);
/* As much of it as needs no more memory than for `want` bytes. */
int ring_room(struct ring *ring, size_t want, struct iovec iov[2]);
void ring_produced(struct ring *ring, size_t len); /* after filling iov */
void ring_consume(struct ring *ring, size_t len);
/* Frees the memory when the ring is empty; it comes back when needed. */
void ring_trim(struct ring *ring);
/* One writev. Returns bytes moved, 0 for an empty ring; -1 with errno. */
ssize_t ring_drain_to(struct ring *ring, int fd);
