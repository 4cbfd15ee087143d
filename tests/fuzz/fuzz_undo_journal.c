/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_undo_journal.c - a journal after its head; what is read is written the
 * same again
 *
 * The checksum would keep all but lucky inputs out: each frame gets a right
 * one first.
 */
#include "undo/journal.h"

#include <string.h>

#include "lib/fuzz.h"

static uint32_t sum_of(const uint8_t *bytes, size_t len)
{
	uint32_t sum = 2166136261U;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 16777619U;
	return sum;
}

static void mend(uint8_t *bytes, size_t len)
{
	for (size_t at = JOURNAL_HEAD_BYTES; at + 8 <= len;) {
		uint32_t size, sum;

		memcpy(&size, bytes + at, sizeof(size));
		if (size > len - at - 8)
			return;
		sum = sum_of(bytes + at + 8, size);
		memcpy(bytes + at + 4, &sum, sizeof(sum));
		at += 8 + size;
	}
}

static void check(const struct journal_record *record, const uint8_t *from,
		  size_t len)
{
	static uint8_t again[JOURNAL_RECORD_MAX];
	struct journal_xattr one;
	size_t at = 0;

	while (journal_xattr_next(record, &at, &one))
		FUZZ_CHECK(!strncmp(one.name, "user.", 5));
	FUZZ_CHECK(!strstr(record->path, "//"));
	FUZZ_CHECK(record->share < JOURNAL_SHARES_MAX);
	if (journal_encode(record, again, sizeof(again)))
		FUZZ_CHECK(!memcmp(again, from, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal_reader reader;
	struct journal_record record;
	uint8_t *bytes;
	size_t at;

	bytes = malloc(size + JOURNAL_HEAD_BYTES);
	if (!bytes)
		return 0;
	journal_head(bytes);
	memcpy(bytes + JOURNAL_HEAD_BYTES, data, size);
	mend(bytes, size + JOURNAL_HEAD_BYTES);
	FUZZ_CHECK(journal_begin(&reader, bytes, size + JOURNAL_HEAD_BYTES) ==
		   0);
	for (at = reader.at; journal_next(&reader, &record) > 0; at = reader.at)
		if (record.type != JOURNAL_LOST &&
		    record.type != JOURNAL_LEFT &&
		    record.type >= JOURNAL_CREATE &&
		    record.type <= JOURNAL_CHANGE)
			check(&record, bytes + at, reader.at - at);
	free(bytes);
	return 0;
}
