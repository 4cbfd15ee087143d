/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_name.h - "sha256:…": how content is named
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DIGEST_NAME_MAX 136 /* "sha512:", 128 digits, the NUL */

/* sha256 or sha512 with lower-case hex of the right length, nothing else. */
bool digest_name_is_valid(const char *text);
/* The digits of a valid one. */
const char *digest_name_hex(const char *text);
/* "sha256" or "sha512" of a valid one; static. */
const char *digest_name_algorithm(const char *text);
