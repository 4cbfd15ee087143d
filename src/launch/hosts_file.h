/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts_file.h - names and addresses in /etc/hosts
 *
 * A name or a line that is not understood is passed over, as in resolv.conf.
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/address.h"

#define HOSTS_FILE_BYTES_MAX (4u << 20)
#define HOSTS_FILE_ENTRIES_MAX 16384

/* name is canonical and borrowed for the call. */
typedef void hosts_file_fn(void *ctx, const char *name,
			   const struct address *address);

/* Calls fn for each, in order, at most max times; returns how often. */
size_t hosts_file_parse(const void *bytes, size_t len, size_t max,
			hosts_file_fn *fn, void *ctx);
