/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_answer.h - the tokens in the answer of a token endpoint
 *
 * What the guest gets, or keeps, in their place is of their shape. Pure, but
 * for the clock and random bytes.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "net/logins.h"
#include "wire/token_body.h"

enum login_answer_use {
	LOGIN_MADE,    /* in the guest: all placeholders are new */
	LOGIN_RENEWED, /* by the guest, which may know the old ones only */
	LOGIN_BY_HOST, /* nobody tells the guest: it goes on with what it has */
};

struct login_answer {
	json_t *tokens;  /* owned: [{"field", "placeholder", "value"}] */
	int64_t expires; /* the second that the access token ends at; 0 */
	char scope[LOGIN_SCOPE_MAX + 1]; /* what was granted; "": as before */
};

/*
 * NULL, or why it cannot be used (static). The body has placeholders in the
 * tokens' places afterwards, unless the host itself asked.
 */
const char *login_answer_take(const struct login *login,
			      enum login_answer_use use,
			      enum token_body_kind kind, struct span body,
			      struct login_answer *out);
