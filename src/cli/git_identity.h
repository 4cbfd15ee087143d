/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_identity.h - who commits inside: the user of the host's git
 *
 * Taken from the host's own configuration only. A repository's is the guest's
 * to write and is read inside anyway.
 */
#pragma once

#include <stddef.h>

#define GIT_IDENTITY_MAX 256 /* bytes of a name or an address */

/*
 * The output of `git config -z --get-regexp` as a git configuration with
 * user.name and user.email, malloc'd; "" when there is neither. A value with
 * control characters, or a longer one, counts as none. Pure.
 */
char *git_identity_text(const char *output, size_t len);
/* The same of the host's git; "" when there is no git. */
char *git_identity_load(void);
