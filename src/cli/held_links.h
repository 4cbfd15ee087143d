/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_links.h - what the host's own links make of a guarded name
 *
 * `.git/hooks/pre-commit` of the host may be a link to `tools/check`, and
 * `.envrc` one to `etc/environment`: whoever writes the target writes what is
 * run. So the target is held, too. A hook may also be another name (a hard
 * link) of a file; nobody knows which name, so the file is told as frozen: no
 * guest writes it.
 */
#pragma once

#include <jansson.h>

struct share_list;

#define HELD_LINKS_MAX 64  /* patterns */
#define HELD_FROZEN_MAX 64 /* files, as many as bawn-files takes */

/* Holds path, and all in it should it be a folder, in the shares it lies in. */
void held_links_hold(const struct share_list *shares, const char *path,
		     json_t *held, size_t *count);
/*
 * Adds to the patterns of `held` what links in held places lead to, and to
 * `frozen` (config.h of src/files; may be NULL) the files there with more
 * names.
 */
void held_links_add(const struct share_list *shares, json_t *held,
		    json_t *frozen);
