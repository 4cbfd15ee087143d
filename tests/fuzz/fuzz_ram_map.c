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
	struct error err;
	uint64_t address;

	if (ram_map_parse((const char *)data, size, bytes, &address, &err) ==
		    0 &&
	    address > UINT64_MAX - bytes)
		abort();
	return 0;
}
