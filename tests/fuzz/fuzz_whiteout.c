/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_whiteout.c - names by which a layer says what is gone
 */
#include <string.h>

#include "base/error.h"
#include "image/whiteout.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[TAR_PATH_MAX], gone[TAR_PATH_MAX], again[TAR_PATH_MAX];
	enum whiteout_kind kind;
	struct error err;

	if (tar_path_normalise((const char *)data, size, path, &err) < 0 ||
	    whiteout_parse(path, &kind, gone, &err) < 0)
		return 0;
	/* what goes is a name beneath the root, and never all of it */
	if (kind == WHITEOUT_NAME)
		FUZZ_CHECK(gone[0] &&
			   tar_path_normalise(gone, strlen(gone), again,
					      &err) == 0 &&
			   strcmp(gone, again) == 0);
	return 0;
}
