/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_blob_path.c - what is found is hex, or lies in what was given
 */
#include "wire/blob_path.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_over((const char *)data, size);
	struct blob_redirect out;
	char hex[BLOB_HEX] = "abcdef";

	if (blob_path_parse(text, hex) == 0)
		FUZZ_CHECK(strspn(hex, "0123456789abcdef") == BLOB_HEX - 1);
	if (blob_redirect_parse(text, hex, &out) == 0)
		FUZZ_CHECK(out.target.bytes >= text.bytes &&
			   out.target.bytes + out.target.len ==
				   text.bytes + text.len &&
			   out.host.port);
	return 0;
}
