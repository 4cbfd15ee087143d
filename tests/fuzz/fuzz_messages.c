/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_messages.c - a message that decodes encodes to the same bytes, and its
 * lists can be walked
 */
#include "proto/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/fuzz.h"

static void walk(const struct message_strings *list, const uint8_t *data,
		 size_t size)
{
	uint32_t count = 0;

	for (const char *text = message_string_next(list, NULL); text;
	     text = message_string_next(list, text)) {
		FUZZ_CHECK((const uint8_t *)text + strlen(text) < data + size);
		count++;
	}
	FUZZ_CHECK(count == list->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message message;
	uint8_t *again;

	if (message_decode(data, size, &message) < 0)
		return 0;
	if (message.type == MESSAGE_SESSION_START) {
		walk(&message.session_start.argv, data, size);
		walk(&message.session_start.env, data, size);
	}
	again = xmalloc(size);
	FUZZ_CHECK(message_encode(&message, again, size) == (long)size);
	FUZZ_CHECK(!memcmp(data, again, size));
	FUZZ_CHECK(message_encode(&message, again, size - 1) == -1);
	free(again);
	return 0;
}
