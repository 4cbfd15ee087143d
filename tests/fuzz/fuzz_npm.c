/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_npm.c - what an npm registry answers
 */
#include "image/npm_manifest.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npm_manifest out;

	if (npm_manifest_parse(data, size, "@a/b", &out, NULL) < 0)
		return 0;
	FUZZ_CHECK(npm_version_is_valid(out.version));
	FUZZ_CHECK(strlen(out.digest) == 7 + 128);
	FUZZ_CHECK(strlen(out.tarball) < NPM_URL_MAX);
	return 0;
}
