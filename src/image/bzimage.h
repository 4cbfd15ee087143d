/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bzimage.h - where the packed kernel lies in a bzImage
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

struct bzimage_payload {
	size_t offset, len; /* of the compressed stream, inside the file */
	uint64_t unpacked;  /* size that the image claims */
};

/* Pure. Needs boot protocol 2.08 (2008), which names the payload. */
int bzimage_parse(const void *bytes, size_t len,
		  struct bzimage_payload *payload, struct error *err);
