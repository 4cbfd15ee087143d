/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.h - RFC 4648, as docker's config.json has it
 *
 * Named unlike that of wire/base64.h, which needs padding: both are linked into
 * some programs.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Whole text, with or without padding; out has room for 3 bytes of every 4
 * begun. The count of bytes, or -1 for anything else. Pure.
 */
ssize_t base64_read(const char *text, size_t len, void *out, size_t size);
