/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_registry_answer.c - tokens and refusals
 */
#include <string.h>

#include "base/error.h"
#include "image/registry_answer.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char token[REGISTRY_TOKEN_MAX], text[200];
	struct error err;

	if (registry_answer_token(data, size, token, &err) == 0)
		FUZZ_CHECK(token[0] && !strpbrk(token, " \r\n\t"));
	registry_answer_refusal(data, size, text, sizeof(text));
	FUZZ_CHECK(strlen(text) < sizeof(text) && !strpbrk(text, "\r\n\033"));
	return 0;
}
