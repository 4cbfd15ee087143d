/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_address.c - what parses has one text, and that parses to the same
 */
#include "wire/address.h"

#include <string.h>

#include "lib/fuzz.h"

static void try_address(const char *data, size_t size)
{
	struct address address, again;
	char text[ADDRESS_TEXT_SIZE];

	if (address_parse(data, size, &address) < 0)
		return;
	address_format(&address, text);
	FUZZ_CHECK(address_parse(text, strlen(text), &again) == 0);
	FUZZ_CHECK(address_equal(&address, &again));
	(void)address_is_guarded(&address);
}

static void try_range(const char *data, size_t size)
{
	struct cidr range, again;
	char text[CIDR_TEXT_SIZE];

	if (cidr_parse(data, size, &range) < 0)
		return;
	FUZZ_CHECK(cidr_contains(&range, &range.base));
	cidr_format(&range, text);
	FUZZ_CHECK(cidr_parse(text, strlen(text), &again) == 0);
	FUZZ_CHECK(again.bits == range.bits);
	FUZZ_CHECK(address_equal(&again.base, &range.base));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_address((const char *)data, size);
	try_range((const char *)data, size);
	return 0;
}
