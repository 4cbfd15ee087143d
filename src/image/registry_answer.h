/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_answer.h - small JSON answers of registries and token servers
 */
#pragma once

#include <stddef.h>

struct error;

#define REGISTRY_TOKEN_MAX 16384

/* "token" or "access_token"; printable ASCII without spaces. Pure. */
int registry_answer_token(const void *bytes, size_t len,
			  char token[REGISTRY_TOKEN_MAX], struct error *err);
/*
 * What a refusal says: the first message of "errors", printable, or "" when
 * it says nothing that we understand. Pure.
 */
void registry_answer_refusal(const void *bytes, size_t len, char *text,
			     size_t size);
