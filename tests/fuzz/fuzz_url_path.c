/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_url_path.c - what has a spelling leads nowhere else
 */
#include "wire/url_path.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[URL_PATH_MAX + 1];
	int len = url_path_normalise((const char *)data, size, out);

	if (len < 0) {
		FUZZ_CHECK(out[0] == '\0');
		return 0;
	}
	FUZZ_CHECK(len > 0 && strlen(out) == (size_t)len && out[0] == '/');
	FUZZ_CHECK(!strstr(out, "//") && !strchr(out, '\\'));
	FUZZ_CHECK(!strstr(out, "/../") && !strstr(out, "/./"));
	FUZZ_CHECK(len < 3 || strcmp(out + len - 3, "/..") != 0);
	FUZZ_CHECK(len < 2 || strcmp(out + len - 2, "/.") != 0);
	return 0;
}
