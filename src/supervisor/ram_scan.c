/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_scan.c - which pages of a private file mapping are QEMU's own
 *
 * /proc/PID/pagemap has an entry for each page, also where nothing is mapped:
 * eight megabytes for a guest of four gigabytes, read while it stands. Linux
 * 6.7 searches itself, and passes by what is empty.
 */
#include "supervisor/ram_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "supervisor/pagemap_scan.h"

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE (UINT64_C(1) << 61)
#define ENTRIES 2048u

int ram_scan_open(struct ram_scan *scan, pid_t pid, struct error *err)
{
	char path[64];

	text_format(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*scan = (struct ram_scan){ .pagemap =
					   open(path, O_RDONLY | O_CLOEXEC) };
	return scan->pagemap < 0 ? error_set(err, errno, "%s", path) : 0;
}

void ram_scan_close(struct ram_scan *scan)
{
	if (scan->pagemap >= 0)
		close(scan->pagemap);
	scan->pagemap = -1;
}

static bool is_own(uint64_t entry)
{
	return (entry & PAGEMAP_SWAPPED) ||
	       ((entry & PAGEMAP_PRESENT) && !(entry & PAGEMAP_FILE));
}

static int look(struct ram_scan *scan, uint64_t *at, uint64_t end,
		struct ram_run *runs, struct error *err)
{
	uint64_t entries[ENTRIES], left = (end - *at) / RAM_PAGE;
	size_t count = left < ENTRIES ? left : ENTRIES, i;
	unsigned pages = 0;
	int found = 0;

	if (pread(scan->pagemap, entries, count * 8,
		  (off_t)(*at / RAM_PAGE * 8)) != (ssize_t)(count * 8))
		return error_set(err, errno, "pagemap");
	for (i = 0; i < count && pages < RAM_SCAN_PAGES; i++) {
		uint64_t address = *at + i * RAM_PAGE;

		if (!is_own(entries[i]))
			continue;
		pages++;
		if (found &&
		    runs[found - 1].address + runs[found - 1].len == address)
			runs[found - 1].len += RAM_PAGE;
		else
			runs[found++] = (struct ram_run){ address, RAM_PAGE };
	}
	*at += i * RAM_PAGE;
	return found;
}

/* -1: the kernel does not. */
static int search(struct ram_scan *scan, uint64_t *at, uint64_t end,
		  struct ram_run *runs)
{
	struct pagemap_region regions[RAM_SCAN_PAGES];
	struct pagemap_scan wish = {
		.size = sizeof(wish),
		.start = *at,
		.end = end,
		.regions = (uintptr_t)regions,
		.regions_len = RAM_SCAN_PAGES,
		.max_pages = RAM_SCAN_PAGES,
		.inverted = PAGEMAP_IS_FILE,
		.all_of = PAGEMAP_IS_FILE,
		.any_of = PAGEMAP_IS_PRESENT | PAGEMAP_IS_SWAPPED,
		.reported = PAGEMAP_IS_FILE,
	};
	int count = ioctl(scan->pagemap, PAGEMAP_SCAN_REQUEST, &wish);

	if (count < 0 || wish.walk_end <= *at || wish.walk_end > end)
		return -1;
	for (int i = 0; i < count; i++)
		runs[i] = (struct ram_run){ regions[i].start,
					    regions[i].end - regions[i].start };
	*at = wish.walk_end;
	return count;
}

int ram_scan_next(struct ram_scan *scan, uint64_t *at, uint64_t end,
		  struct ram_run runs[RAM_SCAN_PAGES], struct error *err)
{
	int count = scan->one_by_one ? -1 : search(scan, at, end, runs);

	if (count >= 0)
		return count;
	scan->one_by_one = true;
	return look(scan, at, end, runs, err);
}
