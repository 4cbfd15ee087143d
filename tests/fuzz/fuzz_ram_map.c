/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ram_map.c - the memory map of a QEMU that may have fallen
 */
#include "supervisor/ram_map.h"

#include <stdlib.h>

#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t bytes = 0x3000;
	struct ram_map map;
	struct error err;
	uint64_t sum = 0;

	if (ram_map_parse((const char *)data, size, bytes, &map, &err) < 0)
		return 0;
	for (unsigned i = 0; i < map.count; i++) {
		if (map.parts[i].offset != sum)
			abort();
		sum += map.parts[i].len;
	}
	if (sum != bytes)
		abort();
	return 0;
}
