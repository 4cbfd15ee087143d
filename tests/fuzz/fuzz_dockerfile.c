/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dockerfile.c - which images a Dockerfile builds on
 */
#include <string.h>

#include "lib/fuzz.h"
#include "oci/dockerfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dockerfile_bases bases;

	dockerfile_find_bases((const char *)data, size, &bases);
	FUZZ_CHECK(bases.count <= DOCKERFILE_BASES_MAX);
	FUZZ_CHECK(!bases.alone || bases.count == 1);
	for (size_t i = 0; i < bases.count; i++) {
		size_t len = strnlen(bases.names[i], REFERENCE_TEXT_MAX);

		FUZZ_CHECK(len > 0 && len < REFERENCE_TEXT_MAX);
		FUZZ_CHECK(!strpbrk(bases.names[i], " \t\r\n$"));
	}
	return 0;
}
