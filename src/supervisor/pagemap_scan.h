/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagemap_scan.h - PAGEMAP_SCAN of Linux 6.7, which older headers do not have
 */
#pragma once

#include <linux/ioctl.h>
#include <stdint.h>

#define PAGEMAP_IS_FILE (UINT64_C(1) << 2)
#define PAGEMAP_IS_PRESENT (UINT64_C(1) << 3)
#define PAGEMAP_IS_SWAPPED (UINT64_C(1) << 4)

struct pagemap_region {
	uint64_t start, end, categories;
};

struct pagemap_scan {
	uint64_t size, flags;
	uint64_t start, end, walk_end;
	uint64_t regions, regions_len, max_pages;
	/* of a page: with these bits turned, all of and any of; what of them
	 * parts regions */
	uint64_t inverted, all_of, any_of, reported;
};

#define PAGEMAP_SCAN_REQUEST _IOWR('f', 16, struct pagemap_scan)
