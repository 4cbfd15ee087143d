/* SPDX-License-Identifier: Apache-2.0 */
/*
 * challenge.h - WWW-Authenticate: what a registry wants to see
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CHALLENGE_TEXT_MAX 1024

enum challenge_scheme {
	CHALLENGE_NONE, /* nothing that we know */
	CHALLENGE_BASIC,
	CHALLENGE_BEARER, /* a token from the realm */
};

struct challenge {
	enum challenge_scheme scheme;
	/* of a bearer challenge; "" when not said */
	char realm[CHALLENGE_TEXT_MAX], service[CHALLENGE_TEXT_MAX],
		scope[CHALLENGE_TEXT_MAX];
};

/*
 * The value of one header, which may hold several challenges: Bearer is
 * preferred to Basic, others are passed over. Fields that are malformed, given
 * twice or too long make their challenge unknown. Pure.
 */
void challenge_parse(const char *value, size_t len,
		     struct challenge *challenge);
