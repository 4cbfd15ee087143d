/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_layer.c - a whole archive into a small image in memory
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int warm;
	struct error err = { 0 };
	struct ext4_stats stats;
	struct ext4_writer *writer;
	struct tar_stream *stream;
	AUTO_FREE uint8_t *copy = xmalloc(size ? size : 1);

	if (size)
		memcpy(copy, data, size);
	mend_checksums(copy, size);
	if (!warm++ && layer_warm_up(&err) < 0)
		abort();
	writer = ext4_writer_new(-1, IMAGE_BYTES, "fuzz", &err);
	if (!writer)
		abort();
	stream = tar_stream_new(-1, copy, size, 2 * IMAGE_BYTES);
	if (layer_unpack(stream, LAYER_WHOLE, writer, NULL, NULL, &err) == 0)
		(void)ext4_writer_finish(writer, &stats, &err);
	else if (!err.text[0])
		abort(); /* a failure has to say why */
	tar_stream_free(stream);
	ext4_writer_free(writer);
	return 0;
}
