/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tar_path.c - names of archive entries
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tar/tar_path.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char out[TAR_PATH_MAX], again[TAR_PATH_MAX];
	struct error err;

	if (tar_path_normalise((const char *)data, size, out, &err) < 0)
		return 0;
	/* What comes out is beneath the root, and stays what it is. */
	if (out[0] == '/' || strstr(out, "//") || strncmp(out, "../", 3) == 0 ||
	    strstr(out, "/../") || strcmp(out, "..") == 0)
		abort();
	if (out[0] && (tar_path_normalise(out, strlen(out), again, &err) < 0 ||
		       strcmp(out, again) != 0))
		abort();
	return 0;
}
