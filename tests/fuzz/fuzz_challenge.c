/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_challenge.c - WWW-Authenticate of a registry
 */
#include <string.h>

#include "lib/fuzz.h"
#include "oci/challenge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct challenge challenge;

	challenge_parse((const char *)data, size, &challenge);
	FUZZ_CHECK(challenge.scheme != CHALLENGE_BEARER || challenge.realm[0]);
	for (const char *c = challenge.realm; *c; c++)
		FUZZ_CHECK(*c >= 0x20 && *c < 0x7f);
	return 0;
}
