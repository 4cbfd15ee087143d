/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_welcome.c - what a WELCOME names can be mounted at
 */
#include "guest/relay_welcome.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct welcome welcome;

	if (welcome_decode(data, size, &welcome))
		return 0;
	FUZZ_CHECK(welcome.count <= WELCOME_SHARES_MAX);
	for (uint32_t i = 0; i < welcome.count; i++) {
		const struct welcome_share *share = &welcome.shares[i];
		const uint8_t *path = (const uint8_t *)share->path;

		FUZZ_CHECK(path >= data && path < data + size);
		if (share->flags & RECORD_SHARE_GONE)
			continue;
		FUZZ_CHECK(strlen(share->path) <= WELCOME_PATH_MAX);
		FUZZ_CHECK(share->path[0] == '/' && share->path[1]);
		FUZZ_CHECK(!strstr(share->path, "//") &&
			   !strstr(share->path, "/../"));
	}
	return 0;
}
