/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - the envelope of everything on the files port
 */
#include "proto/record.h"

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
	return cursor_done(&c) ? 0 : -1;
}

int record_done_decode(const void *bytes, size_t len, uint32_t *number)
{
	struct cursor c = cursor_over(bytes, len);

	*number = cursor_u32(&c);
	return cursor_done(&c) ? 0 : -1;
}
