/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - the envelope of everything on the files port
 */
#include "proto/record.h"

#include "proto/bulk.h"
#include "proto/cursor.h"

int record_decode(const void *bytes, struct record *record)
{
	struct cursor c = cursor_over(bytes, RECORD_HEADER_BYTES);

	record->len = cursor_u32(&c);
	record->type = cursor_u8(&c);
	record->share = cursor_u8(&c);
	if (cursor_u16(&c) != 0 || record->len > RECORD_PAYLOAD_MAX)
		return -1;
	return record->type > 0 && record->type < RECORD_TYPES ? 0 : -1;
}

void record_encode(const struct record *record, void *bytes)
{
	struct writer w = writer_over(bytes, RECORD_HEADER_BYTES);

	writer_u32(&w, record->len);
	writer_u8(&w, record->type);
	writer_u8(&w, record->share);
	writer_u16(&w, 0);
}

int record_hello_decode(const void *bytes, size_t len,
			struct record_hello *hello)
{
	struct cursor c = cursor_over(bytes, len);

	hello->version = cursor_u32(&c);
	hello->notifier = cursor_u32(&c);
	hello->initialised = cursor_u64(&c);
	hello->features = cursor_u32(&c);
	return cursor_done(&c) ? 0 : -1;
}

static int decode_word(const void *bytes, size_t len, uint32_t *word)
{
	struct cursor c = cursor_over(bytes, len);

	*word = cursor_u32(&c);
	return cursor_done(&c) ? 0 : -1;
}

int record_done_decode(const void *bytes, size_t len, uint32_t *number)
{
	return decode_word(bytes, len, number);
}

int record_rings_decode(const void *bytes, size_t len, uint32_t *start)
{
	return decode_word(bytes, len, start);
}

static int decode_piece(struct cursor *c, struct record_piece *piece)
{
	piece->start = cursor_u32(c);
	piece->len = cursor_u32(c);
	return !c->bad && piece->len && bulk_inside(piece->start, piece->len)
		       ? 0
		       : -1;
}

int record_piece_decode(const void *bytes, size_t len,
			struct record_piece *piece)
{
	struct cursor c = cursor_over(bytes, len);

	return decode_piece(&c, piece) == 0 && cursor_done(&c) ? 0 : -1;
}

int record_write_decode(const void *bytes, size_t len,
			struct record_piece *piece)
{
	struct cursor c = cursor_over(bytes, len);

	return decode_piece(&c, piece);
}

int record_read_decode(const void *bytes, size_t len, uint32_t *count)
{
	return decode_word(bytes, len, count) == 0 && *count ? 0 : -1;
}

int record_room_decode(const void *bytes, size_t len, bool *there)
{
	uint32_t value;
	int bad = decode_word(bytes, len, &value);

	*there = value;
	return bad || value > 1 ? -1 : 0;
}

int record_nodes_decode(const void *bytes, size_t len, size_t *count)
{
	*count = len / sizeof(uint64_t);
	return bytes && *count && len % sizeof(uint64_t) == 0 ? 0 : -1;
}

uint64_t record_node_at(const void *bytes, size_t at)
{
	struct cursor c =
		cursor_over((const uint8_t *)bytes + at * sizeof(uint64_t),
			    sizeof(uint64_t));

	return cursor_u64(&c);
}

int record_make_decode(const void *bytes, size_t len, size_t *message_len,
		       uint64_t *node)
{
	struct cursor c;

	if (len < RECORD_MAKE_BYTES)
		return -1;
	*message_len = len - RECORD_MAKE_BYTES;
	c = cursor_over((const uint8_t *)bytes + *message_len,
			RECORD_MAKE_BYTES);
	*node = cursor_u64(&c);
	return *node ? 0 : -1;
}
