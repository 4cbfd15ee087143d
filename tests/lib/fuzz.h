/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what every fuzz target defines, and how it complains
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in every build type. */
#define FUZZ_CHECK(expression)     \
	do {                       \
		if (!(expression)) \
			abort();   \
	} while (0)
