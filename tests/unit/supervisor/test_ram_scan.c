/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ram_scan.c - the kernel's search and ours find the same pages
 */
#include "supervisor/ram_scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/tap.h"

#define PAGES 5000u
#define BYTES (PAGES * RAM_PAGE)

static bool is_written(unsigned page)
{
	return page % 7 == 0 || (page > 1000 && page < 2000);
}

static unsigned char *map_some(void)
{
	char name[] = "/tmp/bawn-scan-XXXXXX";
	int fd = mkstemp(name);
	unsigned char *memory;

	CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
	unlink(name);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	CHECK(memory != MAP_FAILED);
	for (unsigned page = 0; page < PAGES; page++) {
		volatile unsigned char *at = memory + page * RAM_PAGE;

		if (is_written(page))
			*at = 1;
		else if (page % 11 == 0)
			(void)*at; /* the file's page */
	}
	return memory;
}

/* Marks what was found; each call returns no more than it may. */
static void find_all(struct ram_scan *scan, const unsigned char *memory,
		     bool *found)
{
	uint64_t begin = (uintptr_t)memory, at = begin, end = begin + BYTES;
	struct error err = { 0 };

	while (at < end) {
		struct ram_run runs[RAM_SCAN_PAGES];
		uint64_t before = at, bytes = 0;
		int count = ram_scan_next(scan, &at, end, runs, &err);

		CHECK(count >= 0 && at > before && at <= end);
		if (count < 0 || at <= before)
			return;
		for (int i = 0; i < count; i++) {
			bytes += runs[i].len;
			for (uint64_t b = 0; b < runs[i].len; b += RAM_PAGE)
				found[(runs[i].address + b - begin) /
				      RAM_PAGE] = true;
		}
		CHECK(bytes <= RAM_SCAN_PAGES * RAM_PAGE);
	}
}

static void check_all(bool one_by_one)
{
	unsigned char *memory = map_some();
	struct ram_scan scan;
	struct error err = { 0 };
	bool found[PAGES] = { false };
	unsigned wrong = 0;

	CHECK(ram_scan_open(&scan, getpid(), &err) == 0);
	scan.one_by_one = one_by_one;
	find_all(&scan, memory, found);
	ram_scan_close(&scan);
	for (unsigned page = 0; page < PAGES; page++)
		wrong += found[page] != is_written(page);
	CHECK(wrong == 0);
	munmap(memory, BYTES);
}

static void own_pages_are_found_by_the_kernel_where_it_can(void)
{
	check_all(false);
}

static void own_pages_are_found_one_by_one(void)
{
	check_all(true);
}

static void nobody_has_no_pages(void)
{
	struct ram_scan scan;
	struct error err = { 0 };

	CHECK(ram_scan_open(&scan, 0x7ffffff0, &err) < 0 && err.text[0]);
	ram_scan_close(&scan);
}

int main(void)
{
	RUN(own_pages_are_found_by_the_kernel_where_it_can);
	RUN(own_pages_are_found_one_by_one);
	RUN(nobody_has_no_pages);
	return DONE();
}
