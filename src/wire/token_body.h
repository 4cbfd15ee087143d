/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_body.h - bodies of requests to a token endpoint and of its answers
 *
 * JSON with an object at the top, or a form (RFC 6749). Only what two readers
 * cannot understand differently: names and tokens are written plainly, without
 * any escape, and no name is there twice. A token is exchanged in its place for
 * a text of the same length, so that nothing around it changes. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/span.h"

enum token_body_kind {
	TOKEN_BODY_OTHER,
	TOKEN_BODY_JSON,
	TOKEN_BODY_FORM,
};

#define TOKEN_BODY_MAX ((size_t)32 * 1024)
#define TOKEN_MIN 24
#define TOKEN_MAX 8192

/* By the value of Content-Type; empty: other. */
enum token_body_kind token_body_kind(struct span content_type);
/*
 * The value of a field of that name, in the body; empty when there is none, or
 * when it is no text. -1: the body cannot be understood in one way alone.
 */
int token_body_find(enum token_body_kind kind, struct span body,
		    const char *name, struct span *value);
/* The same, of a number without sign and fraction; 0: none, or not known. */
int64_t token_body_number(enum token_body_kind kind, struct span body,
			  const char *name);
/* The second (of the epoch) that a JWT ends at, as it says; 0: not known. */
int64_t token_expires(struct span token);
/* Letters, digits, `-`, `.`, `_`, `~`, and not too short or too long. */
bool token_is_plain(struct span token);
/*
 * How much of a token stays as it is in what is shown instead of it: of a JWT
 * all but its signature, else a prefix such as `sk-ant-`. At least
 * TOKEN_HIDDEN_MIN bytes are left of one that is plain.
 */
#define TOKEN_HIDDEN_MIN 20
size_t token_shown(struct span token);
