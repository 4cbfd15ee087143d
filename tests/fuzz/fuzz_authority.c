/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_authority.c - what parses has one text, and that parses to the same
 */
#include "wire/authority.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct authority authority, again;
	char text[AUTHORITY_TEXT_SIZE];

	if (authority_parse((const char *)data, size, &authority) < 0)
		return 0;
	authority_format(&authority, text);
	FUZZ_CHECK(authority_parse(text, strlen(text), &again) == 0);
	FUZZ_CHECK(authority_same_host(&authority, &again));
	FUZZ_CHECK(address_equal(&authority.address, &again.address));
	FUZZ_CHECK(authority.port == again.port);
	return 0;
}
