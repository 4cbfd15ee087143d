/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_control_line.c - a control line that parses can be written again
 */
#include "ipc/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	json_t *message, *again;
	char *line;

	message = control_parse_line((const char *)data, size, &err);
	if (!message) {
		FUZZ_CHECK(err.text[0]);
		return 0;
	}
	line = control_encode_line(message);
	if (line) {
		again = control_parse_line(line, strlen(line), &err);
		FUZZ_CHECK(again);
		json_decref(again);
	}
	free(line);
	json_decref(message);
	return 0;
}
