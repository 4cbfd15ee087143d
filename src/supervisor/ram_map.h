/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_map.h - where a guest's memory lies in QEMU, from /proc/PID/maps
 *
 * QEMU may have fallen: the text is a stranger's. Wrong addresses give wrong
 * bytes in that sandbox's own snapshot, and nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

#define RAM_MAP_PARTS 32

struct ram_map_part {
	uint64_t address, offset, len; /* in QEMU, in the RAM file */
};

struct ram_map {
	struct ram_map_part parts[RAM_MAP_PARTS]; /* by offset, no gaps */
	unsigned count;
};

/*
 * The private mappings of one file that together are `bytes` long, from its
 * beginning and without a gap. Pure.
 */
int ram_map_parse(const char *text, size_t len, uint64_t bytes,
		  struct ram_map *map, struct error *err);
