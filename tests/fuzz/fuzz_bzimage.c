/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_bzimage.c - where the packed kernel lies in a bzImage
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "image/bzimage.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bzimage_payload payload;
	struct error err;

	if (bzimage_parse(data, size, &payload, &err) == 0 &&
	    (payload.offset > size || payload.len > size - payload.offset))
		abort();
	return 0;
}
