/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden.h - what a sandbox must not see of a share: .bawnignore at its root,
 * Read(…) entries of the user's Claude settings, --hide
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;
struct sandbox_record;

/*
 * The patterns of share number `at`, in the order that bawn-files takes them.
 * Settings that cannot be read are warned of; a .bawnignore that cannot is an
 * error. Caller owns it.
 */
json_t *hidden_of(const struct sandbox_record *record, size_t at,
		  struct error *err);
