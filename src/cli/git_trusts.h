/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_trusts.h - files of the shares that the host's git runs or believes
 *
 * Which ones a repository's config on the host says: core.hooksPath, includes,
 * filters and other commands. A guest must not write them either.
 */
#pragma once

#include <jansson.h>

struct share_list;

/*
 * Adds held patterns (guard.h), from the root of a share, at most as many as
 * held_links.h says.
 */
void git_trusts_add(const struct share_list *shares, json_t *held);
