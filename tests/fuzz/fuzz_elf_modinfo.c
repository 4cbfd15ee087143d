/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_elf_modinfo.c - what a kernel module says about itself
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "provision/elf_modinfo.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char value[64];
	struct error err;

	if (elf_modinfo_find(data, size, "depends", value, sizeof(value),
			     &err) > 0 &&
	    memchr(value, '\0', sizeof(value)) == NULL)
		abort();
	return 0;
}
