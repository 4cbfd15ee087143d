/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bzimage.c - where the packed kernel lies in a bzImage
 */
#include "image/bzimage.h"

#include "base/error.h"
#include "lib/tap.h"

#define LEN 4096

static uint8_t image[LEN];
static struct bzimage_payload payload;
static struct error err;

static void put32(size_t at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		image[at + (size_t)i] = (uint8_t)(value >> (8 * i));
}

/* one setup sector; payload of 100 bytes at 1024 + 16 */
static void prepare(uint8_t first_byte)
{
	memset(image, 0, sizeof(image));
	image[0x1f1] = 1;
	memcpy(image + 0x202, "HdrS", 4);
	image[0x206] = 0x0f;
	image[0x207] = 0x02;
	put32(0x248, 16);
	put32(0x24c, 100);
	image[1024 + 16] = first_byte;
	put32(1024 + 16 + 96, 12345);
}

static void the_payload_is_found(void)
{
	prepare(0xfd);
	CHECK(bzimage_parse(image, LEN, &payload, &err) == 0);
	CHECK(payload.offset == 1040 && payload.len == 96);
	CHECK(payload.unpacked == 12345);
	prepare(0x1f);
	CHECK(bzimage_parse(image, LEN, &payload, &err) == 0);
	CHECK(payload.len == 100);
}

static void every_truncation_is_refused(void)
{
	prepare(0x1f);
	for (size_t len = 0; len < 1140; len++)
		CHECK(bzimage_parse(image, len, &payload, &err) < 0);
	CHECK(bzimage_parse(image, 1140, &payload, &err) == 0);
}

static void lying_headers_are_refused(void)
{
	prepare(0x1f);
	put32(0x248, 0xffffffff);
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
	prepare(0x1f);
	put32(0x24c, 0xffffffff);
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
	prepare(0x1f);
	put32(0x24c, 3);
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
	prepare(0x1f);
	image[0x1f1] = 255;
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
	prepare(0x1f);
	image[0x206] = 0x07;
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
	prepare(0x1f);
	image[0x202] = 'x';
	CHECK(bzimage_parse(image, LEN, &payload, &err) < 0);
}

int main(void)
{
	RUN(the_payload_is_found);
	RUN(every_truncation_is_refused);
	RUN(lying_headers_are_refused);
	return DONE();
}
