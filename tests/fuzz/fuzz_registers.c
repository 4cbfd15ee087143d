/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_registers.c - what QEMU says of a CPU
 */
#include "supervisor/registers.h"

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registers registers;

	if (registers_parse((const char *)data, size, &registers) == 0)
		FUZZ_CHECK(registers.cpl <= 3);
	return 0;
}
