/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image.h - a guest's memory into a file
 *
 * QEMU maps a RAM file privately (qemu_argv.c): pages that the guest wrote are
 * QEMU's own, all others are the file's, and that never changes. So only the
 * former must be copied while the machine stands (take); the latter come from
 * the file afterwards, a little at a time (more).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/ram_map.h"

struct error;

struct ram_image {
	uint64_t bytes;   /* of the whole memory */
	uint64_t private; /* of pages that QEMU had for itself */

	/* private */
	pid_t pid;
	int base, out; /* borrowed: the RAM file; the new one, empty */
	struct ram_map map;
	uint8_t *taken;         /* a bit for each page */
	unsigned char *scratch; /* one piece of memory */
	uint64_t at;            /* of the second part */
};

/* The machine may still run. */
int ram_image_begin(struct ram_image *image, pid_t pid, int base, int out,
		    uint64_t bytes, struct error *err);
/* The machine stands still. */
int ram_image_take(struct ram_image *image, struct error *err);
/* About budget bytes more; 1: call again, 0: the file is whole. */
int ram_image_more(struct ram_image *image, uint64_t budget, struct error *err);
void ram_image_release(struct ram_image *image);
