/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_internal.h - shared by the registry_*.c files only
 */
#pragma once

#include "image/registry.h"

enum registry_auth {
	REGISTRY_OPEN, /* nobody has asked yet */
	REGISTRY_BASIC,
	REGISTRY_BEARER,
};

struct registry {
	struct http *http;        /* owned */
	struct http *http_tokens; /* owned; token servers, one at a time */
	struct registry_settings settings;
	struct registry_place place;
	char action[16];
	bool plain; /* http instead of https */
	bool plain_is_known;
	enum registry_auth auth;
	char token[REGISTRY_TOKEN_MAX];
	unsigned token_number; /* one more with each new token */
	enum registry_verdict verdict;
};

/*
 * What a challenge asks for: a token is fetched, or the login goes along from
 * now on. -1 when there is nothing (else) to show.
 */
int registry_auth_answer(struct registry *registry,
			 const struct challenge *challenge,
			 enum registry_verdict *verdict, struct error *err);
