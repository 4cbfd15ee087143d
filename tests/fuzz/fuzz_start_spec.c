/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_start_spec.c - a start line that decodes encodes to one that decodes
 */
#include "ipc/start_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct start_spec spec, again;
	struct error err;
	char *text;

	if (start_spec_decode((const char *)data, size, &spec, &err) < 0) {
		FUZZ_CHECK(!spec.name && spec.disk_count == 0);
		return 0;
	}
	text = start_spec_encode(&spec);
	FUZZ_CHECK(text);
	FUZZ_CHECK(!start_spec_decode(text, strlen(text), &again, &err));
	FUZZ_CHECK(again.goal == spec.goal && again.cpus == spec.cpus &&
		   !strcmp(again.name, spec.name));
	free(text);
	start_spec_release(&again);
	start_spec_release(&spec);
	return 0;
}
