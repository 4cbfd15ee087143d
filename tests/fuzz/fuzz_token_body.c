/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_token_body.c - what is found lies in the body, and its shape is kept
 */
#include "wire/token_body.h"

#include "lib/fuzz.h"

static void look(enum token_body_kind kind, struct span body)
{
	struct span value;

	FUZZ_CHECK(token_body_number(kind, body, "expires_in") >= 0);
	if (token_body_find(kind, body, "access_token", &value) < 0 ||
	    !value.len)
		return;
	FUZZ_CHECK(value.bytes >= body.bytes &&
		   value.bytes + value.len <= body.bytes + body.len);
	if (token_is_plain(value))
		FUZZ_CHECK(token_shown(value) < value.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body = span_over((const char *)data, size);

	look(TOKEN_BODY_JSON, body);
	look(TOKEN_BODY_FORM, body);
	token_body_kind(body);
	FUZZ_CHECK(token_expires(body) >= 0);
	return 0;
}
