/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_registries.c - the file of mirrors
 */
#include "base/error.h"
#include "base/mem.h"
#include "lib/fuzz.h"
#include "oci/registries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct registries_entry entry;
	struct error err;

	if (registries_find(text, "h", &entry, &err) == 0)
		for (size_t i = 0; i < entry.mirror_count; i++)
			FUZZ_CHECK(
				reference_host_is_valid(
					entry.mirrors[i].host) &&
				(!entry.mirrors[i].http ||
				 reference_is_loopback(entry.mirrors[i].host)));
	free(text);
	return 0;
}
