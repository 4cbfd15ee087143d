/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h - SHA-256, as lower-case hex
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_HEX 65 /* with the NUL */

struct error;

void digest_bytes(const void *bytes, size_t len, char hex[DIGEST_HEX]);
/* Of a whole file from its start; holes are skipped cheaply where possible. */
int digest_fd(int fd, char hex[DIGEST_HEX], struct error *err);
/*
 * Of a large file that is mostly holes: its size and its blocks that are not
 * zero, each with its place. The same for a copy with other holes, and no
 * `sha256sum` of the file.
 */
int digest_sparse_fd(int fd, char hex[DIGEST_HEX], struct error *err);
