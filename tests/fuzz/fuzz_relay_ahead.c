/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_relay_ahead.c - pieces, each a length and bytes: an answer ahead, then a
 * request, in turn; what is found lies in what is kept
 */
#include "guest/relay_ahead.h"

#include <linux/fuse.h>
#include <string.h>

#include "guest/relay_ticket.h"
#include "lib/fuzz.h"

static void use(struct ahead_table *table, const uint8_t *bytes, size_t len)
{
	struct ahead_answer answer;
	uint8_t request[512] = { 0 };
	volatile unsigned sum = 0;

	if (len > sizeof(request))
		return;
	memcpy(request, bytes, len);
	if (len < sizeof(struct fuse_in_header))
		len = sizeof(struct fuse_in_header);
	ahead_changes(request, len, 7);
	ahead_drop_changed(table, 0, request, len);
	if (!ahead_find(table, 0, request, len, &answer))
		return;
	FUZZ_CHECK(answer.len <= table->bytes);
	for (size_t i = 0; i < answer.len; i++)
		sum += answer.bytes[i]; /* for the sanitizer */
	ahead_used(table, 0, request, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ticket_record ticket;
	struct ahead_table table;
	bool turn = false;

	ticket_record_decode(data, size, &ticket);
	ahead_init(&table);
	while (size) {
		size_t len = *data++;

		size--;
		if (len > size)
			len = size;
		turn = !turn;
		if (turn)
			ahead_add(&table, 0, data, len);
		else
			use(&table, data, len);
		data += len;
		size -= len;
	}
	ahead_clear(&table);
	FUZZ_CHECK(table.bytes == 0);
	return 0;
}
