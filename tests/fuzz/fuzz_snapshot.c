/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_snapshot.c - the manifest of a snapshot
 */
#include "state/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot snapshot, again;
	AUTO_FREE char *text = NULL;
	struct error err;
	char says[64];

	if (snapshot_parse(data, size, &snapshot, &err) < 0)
		return 0;
	text = snapshot_encode(&snapshot);
	if (!text || snapshot_parse(text, strlen(text), &again, &err) < 0)
		abort();
	snapshot_difference(snapshot.facts, "QEMU: 1\nCPU: 2\n", says,
			    sizeof(says));
	if (snapshot_difference(snapshot.facts, again.facts, says,
				sizeof(says)) == 0 &&
	    strncmp(says, "another ", 8) != 0)
		abort();
	snapshot_release(&again);
	snapshot_release(&snapshot);
	return 0;
}
