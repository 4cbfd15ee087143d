/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_layers.c - two layers into a small image in memory; the first byte says
 * how many blocks the first has
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "image/ext4_writer.h"
#include "image/layer.h"
#include "image/tar_stream.h"
#include "lib/fuzz.h"

#define IMAGE_BYTES EXT4_WRITER_MIN_BYTES
#define BLOCK 512
#define CHECKSUM_AT 148
#define MAGIC_AT 257

/* A wrong checksum would end every mutation at once. */
static void mend_checksums(uint8_t *data, size_t size)
{
	for (; size >= BLOCK; data += BLOCK, size -= BLOCK) {
		unsigned sum = 0;

		if (memcmp(data + MAGIC_AT, "ustar", 5) != 0)
			continue;
		memset(data + CHECKSUM_AT, ' ', 8);
		for (size_t i = 0; i < BLOCK; i++)
			sum += data[i];
		for (int i = 5; i >= 0; i--, sum >>= 3)
			data[CHECKSUM_AT + i] = (uint8_t)('0' + (sum & 7));
		data[CHECKSUM_AT + 6] = '\0';
	}
}

static int unpack(struct ext4_writer *writer, const uint8_t *data, size_t size,
		  struct error *err)
{
	struct tar_stream *stream =
		tar_stream_new(-1, data, size, 2 * IMAGE_BYTES);
	int result =
		layer_unpack(stream, LAYER_OF_MANY, writer, NULL, NULL, err);

	if (result < 0 && !err->text[0])
		abort(); /* a failure has to say why */
	tar_stream_free(stream);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int warm;
	struct error err = { 0 };
	struct ext4_stats stats;
	struct ext4_writer *writer;
	AUTO_FREE uint8_t *copy = xmalloc(size ? size : 1);
	size_t first = size ? (size_t)data[0] * BLOCK : 0;

	if (!size)
		return 0;
	memcpy(copy, data, size);
	mend_checksums(copy + 1, size - 1);
	if (first > size - 1)
		first = size - 1;
	if (!warm++ && layer_warm_up(&err) < 0)
		abort();
	writer = ext4_writer_new(-1, IMAGE_BYTES, "fuzz", &err);
	if (!writer)
		abort();
	if (unpack(writer, copy + 1, first, &err) == 0 &&
	    unpack(writer, copy + 1 + first, size - 1 - first, &err) == 0)
		(void)ext4_writer_finish(writer, &stats, &err);
	ext4_writer_free(writer);
	return 0;
}
