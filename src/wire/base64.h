/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.h - RFC 4648, the usual alphabet, with padding
 *
 * Pure. Nothing here takes a time or a way that depends on who reads it
 * afterwards: what is decoded is a guest's, what is encoded is ours.
 */
#pragma once

#include <stddef.h>

#define BASE64_SIZE(len) (((len) + 2) / 3 * 4)

/* out has BASE64_SIZE(len) bytes; no NUL. Returns that. */
size_t base64_encode(const void *bytes, size_t len, char *out);
/*
 * Strict: whole groups, padding only at the end, no other byte; unused bits are
 * ignored, as most readers do. out has len / 4 * 3 bytes. The length, or -1.
 */
int base64_decode(const char *text, size_t len, void *out);
