/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_reference.c - names of images
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/fuzz.h"
#include "oci/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	char full[REFERENCE_TEXT_MAX], again[REFERENCE_TEXT_MAX];
	struct reference reference;
	struct error err;

	if (reference_parse(text, &reference, &err) == 0) {
		FUZZ_CHECK(reference_host_is_valid(reference.host));
		FUZZ_CHECK(!strstr(reference.repository, "..") &&
			   reference.repository[0] != '/');
		/* both spellings mean the same */
		reference_familiar(&reference, again);
		reference_format(&reference, full);
		FUZZ_CHECK(reference_parse(again, &reference, &err) == 0);
		reference_format(&reference, again);
		FUZZ_CHECK(strcmp(full, again) == 0);
		reference_is_loopback(reference.host);
	}
	free(text);
	return 0;
}
