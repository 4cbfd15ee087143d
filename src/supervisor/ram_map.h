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

/*
 * The address of a private mapping of a file that begins at the file's first
 * byte and is `bytes` long. Parts of it may be anonymous instead: what is a
 * hole of the file (ramshim_holes.c). Pure.
 */
int ram_map_parse(const char *text, size_t len, uint64_t bytes,
		  uint64_t *address, struct error *err);
