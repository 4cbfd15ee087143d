/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bzimage.c - where the packed kernel lies in a bzImage
 */
#include "image/bzimage.h"

#include <string.h>

#include "base/error.h"

/* Offsets of the setup header, Documentation/x86/boot.rst of the kernel. */
#define SETUP_SECTS 0x1f1
#define HEADER_MAGIC 0x202
#define VERSION 0x206
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_LENGTH 0x24c
#define HEADER_END 0x250
#define VERSION_WITH_PAYLOAD 0x0208
#define SECTOR 512

static uint32_t u32_at(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

int bzimage_parse(const void *bytes, size_t len,
		  struct bzimage_payload *payload, struct error *err)
{
	const uint8_t *image = bytes;
	size_t setup, offset, claimed_len;

	if (len < HEADER_END || memcmp(image + HEADER_MAGIC, "HdrS", 4) != 0)
		return error_set(err, 0, "not a bzImage");
	if ((image[VERSION] | image[VERSION + 1] << 8) < VERSION_WITH_PAYLOAD)
		return error_set(err, 0,
				 "the bzImage is too old (before "
				 "boot protocol 2.08)");
	/* 0 means 4, from the time of floppy disks. */
	setup = image[SETUP_SECTS] ? image[SETUP_SECTS] : 4;
	setup = (setup + 1) * SECTOR;
	offset = u32_at(image + PAYLOAD_OFFSET);
	claimed_len = u32_at(image + PAYLOAD_LENGTH);
	if (setup > len || offset > len - setup ||
	    claimed_len > len - setup - offset || claimed_len < 8)
		return error_set(err, 0,
				 "the bzImage's payload lies outside "
				 "the file");
	payload->offset = setup + offset;
	payload->len = claimed_len;
	payload->unpacked = u32_at(image + payload->offset + payload->len - 4);
	/* The build appends the size; gzip has it as its own last field. */
	if (image[payload->offset] != 0x1f)
		payload->len -= 4;
	return 0;
}
