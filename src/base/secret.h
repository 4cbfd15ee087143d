/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h - bytes that must not be seen elsewhere
 *
 * A key or a token lies in pages of its own, that are never swapped, not in a
 * core dump, not in a child, and that are wiped when they are let go.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

struct error;
struct secret;

#define SECRET_MAX ((size_t)512 * 1024)

/*
 * A copy of the bytes, or zeros to be written when bytes is NULL; one NUL
 * follows that is not counted. NULL: too long, or the pages cannot be locked.
 */
struct secret *secret_new(const void *bytes, size_t len, struct error *err);
/* May be NULL. */
void secret_free(struct secret *secret);
uint8_t *secret_data(struct secret *secret);
const char *secret_text(const struct secret *secret);
size_t secret_len(const struct secret *secret);
/* Wipes what lay elsewhere for a moment; may be NULL with 0. */
void secret_wipe(void *bytes, size_t len);
void secret_wipe_text(char *text);
/* free() that wipes first, all that was allocated; may be NULL. */
void secret_free_memory(void *memory);

AUTO_DEFINE(secret, struct secret *, secret_free)
