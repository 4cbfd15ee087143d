/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_name.c - "sha256:…": how content is named
 */
#include "oci/digest_name.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"

static const struct {
	const char *prefix, *algorithm;
	size_t digits;
} kinds[] = {
	{ "sha256:", "sha256", 64 },
	{ "sha512:", "sha512", 128 },
};

bool digest_name_is_valid(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *hex = text + strlen(kinds[i].prefix);

		if (text_starts(text, kinds[i].prefix))
			return strlen(hex) == kinds[i].digits &&
			       strspn(hex, "0123456789abcdef") ==
				       kinds[i].digits;
	}
	return false;
}

const char *digest_name_hex(const char *text)
{
	return strchr(text, ':') + 1;
}

const char *digest_name_algorithm(const char *text)
{
	return text_starts(text, kinds[1].prefix) ? kinds[1].algorithm
						  : kinds[0].algorithm;
}
