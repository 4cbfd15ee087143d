/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_image.h - a guest's memory into a file
 *
 * QEMU maps a RAM file privately (qemu_argv.c): pages that the guest wrote are
 * QEMU's own, all others are the file's, or zeros where that has a long hole
 * (ramshim_holes.c), and that never changes. So only the
 * former must be looked for, and copied if the machine is to go on, while it
 * stands (take); then all go to the new file in its order, a little at a time
 * (more).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct ram_image {
	uint64_t bytes;   /* of the whole memory */
	uint64_t private; /* of pages that QEMU had for itself */
	uint64_t sum;     /* of what was written to the new file */

	/* private */
	pid_t pid;
	unsigned char *kept;    /* owned: QEMU's pages, each at its place; NULL:
				   QEMU stands until all is written */
	int base, out;          /* borrowed: the RAM file; the new one, empty */
	uint64_t address;       /* of the memory, in QEMU */
	uint8_t *taken;         /* owned: a bit for each page that is QEMU's */
	unsigned char *scratch; /* owned: one piece of memory */
	uint64_t ahead;         /* how far ram_image_ahead() came */
	uint64_t at;            /* how far ram_image_more() came */
	uint64_t data, data_end; /* of the old file: what is no hole, next */
	uint64_t flushed;        /* how far the disk was told to begin */
};

/* The machine may still run. */
int ram_image_begin(struct ram_image *image, pid_t pid, int base, int out,
		    uint64_t bytes, struct error *err);
/* The machine goes on before all is written: QEMU's pages lie in memory until
 * then, since a file on a disk that is busy takes them as slowly as the disk.
 */
int ram_image_through_memory(struct ram_image *image, struct error *err);
/*
 * While the machine still runs: about budget bytes of what ram_image_take()
 * will copy once more, into memory that is there by then. That is less than
 * half the work. 1: call again, 0: all was passed.
 */
int ram_image_ahead(struct ram_image *image, uint64_t budget,
		    struct error *err);
/* The machine stands still. */
int ram_image_take(struct ram_image *image, struct error *err);
/* About budget bytes more; 1: call again, 0: the file is whole. */
int ram_image_more(struct ram_image *image, uint64_t budget, struct error *err);
void ram_image_release(struct ram_image *image);
