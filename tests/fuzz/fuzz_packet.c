/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_packet.c - a packet that parses is one object and can be written again
 */
#include "ipc/packet.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	json_t *json = packet_parse(data, size, &err), *again;
	char *text;

	if (!json) {
		FUZZ_CHECK(err.code);
		return 0;
	}
	FUZZ_CHECK(json_is_object(json));
	text = json_dumps(json, JSON_COMPACT);
	if (text) {
		again = packet_parse(text, strlen(text), &err);
		FUZZ_CHECK(again && json_equal(json, again));
		json_decref(again);
	}
	free(text);
	json_decref(json);
	return 0;
}
