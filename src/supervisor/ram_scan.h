/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_scan.h - which pages of a private file mapping are QEMU's own
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

#define RAM_PAGE 4096ull
#define RAM_SCAN_PAGES 256u /* at most, of one call */

struct ram_run {
	uint64_t address, len;
};

struct ram_scan {
	int pagemap;     /* owned; -1: none */
	bool one_by_one; /* the kernel does not search (before 6.7) */
};

int ram_scan_open(struct ram_scan *scan, pid_t pid, struct error *err);
void ram_scan_close(struct ram_scan *scan);
/*
 * Looks from *at on and no further than end; *at moves to where it stopped.
 * Returns how many runs there are, of RAM_SCAN_PAGES pages together at most.
 */
int ram_scan_next(struct ram_scan *scan, uint64_t *at, uint64_t end,
		  struct ram_run runs[RAM_SCAN_PAGES], struct error *err);
