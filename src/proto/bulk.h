/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.h - memory beside the files port, one for each direction (PROTOCOL.md
 * §8)
 *
 * A virtio port moves 4 KiB at a time, and each wakes three threads. What is
 * larger lies in memory, and a short record says where. Each memory has one
 * writer, who keeps this list of what the other side has not read yet; nothing
 * of the list itself is shared. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BULK_BYTES (8u << 20)   /* a PCI resource: 2^n */
#define BULK_TO_GUEST_DEVICE 8u /* on the guest's PCI bus */
#define BULK_FROM_GUEST_DEVICE 9u
#define BULK_PIECES 256

/* Bytes that are not worth it: they fit into one buffer of the port. */
#define BULK_WORTH (4u * 1024)

struct bulk_piece {
	uint32_t start, end;
	bool read;
};

/* In the order in which they were taken; they lie in a ring. */
struct bulk {
	struct bulk_piece pieces[BULK_PIECES];
	unsigned first, count;
};

/* All of it is free. */
void bulk_reset(struct bulk *bulk);
/* The longest piece that can be had now. */
uint32_t bulk_room(const struct bulk *bulk);
/* Where they would be. */
uint32_t bulk_next(const struct bulk *bulk);
/* Where len bytes may be written, at most bulk_room(). */
uint32_t bulk_take(struct bulk *bulk, uint32_t len);
/* The oldest ones were read; -1 when there are not that many. */
int bulk_read(struct bulk *bulk, uint32_t count);
/* The one that starts there was read, and others before it maybe not. */
void bulk_read_one(struct bulk *bulk, uint32_t start);
/* May the other side have named this: is it inside? */
bool bulk_inside(uint32_t start, uint32_t len);
