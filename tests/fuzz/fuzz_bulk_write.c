/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_bulk_write.c - small records; the data of a write lies in the memory,
 * all of it
 */
#include <errno.h>

#include "files/fuse_decode.h"
#include "lib/fuzz.h"
#include "proto/bulk.h"
#include "proto/record.h"

static void check_make(const uint8_t *data, size_t size)
{
	struct fuse_request request;
	size_t message_len;
	uint64_t node;

	if (record_make_decode(data, size, &message_len, &node) < 0)
		return;
	FUZZ_CHECK(node && message_len + RECORD_MAKE_BYTES == size);
	/* The message knows nothing of what is behind it. */
	fuse_decode(data, message_len, &request);
	FUZZ_CHECK(request.promised == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t memory[BULK_BYTES];
	struct fuse_request request;
	struct record_piece piece;
	uint32_t count;
	size_t used;
	bool there;
	int result;

	check_make(data, size);
	if (record_read_decode(data, size, &count) == 0)
		FUZZ_CHECK(count && size == RECORD_READ_BYTES);
	if (record_room_decode(data, size, &there) == 0)
		FUZZ_CHECK(size == RECORD_ROOM_BYTES && there == data[0]);
	if (record_nodes_decode(data, size, &used) == 0)
		FUZZ_CHECK(used && used * 8 == size &&
			   (record_node_at(data, used - 1) & 0xff) ==
				   data[size - 8]);
	if (record_piece_decode(data, size, &piece) == 0)
		FUZZ_CHECK(size == RECORD_BULK_BYTES);
	if (record_write_decode(data, size, &piece) < 0)
		return 0;
	FUZZ_CHECK(piece.len && piece.start < BULK_BYTES &&
		   piece.len <= BULK_BYTES - piece.start);
	result = fuse_decode_write(data + RECORD_BULK_BYTES,
				   size - RECORD_BULK_BYTES,
				   memory + piece.start, piece.len, &request);
	FUZZ_CHECK(result == 0 || result == EINVAL || result == EBADMSG);
	if (result == 0)
		FUZZ_CHECK(request.data == memory + piece.start &&
			   request.data_len == piece.len &&
			   request.in.write.size == piece.len &&
			   request.opcode == FUSE_WRITE);
	return 0;
}
