/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_holes.h - memory for what a RAM file has nothing of
 */
#pragma once

#include <stddef.h>

/* So much at the beginning is the file's in any case: ram_map.c finds it. */
#define HOLES_HEAD_BYTES (2u << 20)
/* Shorter holes are not worth a mapping of their own. */
#define HOLES_LENGTH_MIN (4u << 20)

/*
 * fd is mapped privately at address, from its first byte on: its holes become
 * anonymous memory, which is zeros as well. -1 and errno when the memory cannot
 * be used any more.
 */
int holes_map(void *address, size_t size, int rights, int fd);
