/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_links.h - which files are hidden, whatever else they are called
 *
 * `.env` is hidden by its name; a hard link of it has another. bawn-files is
 * told which files these are (unseen.h of src/files), as far as they are found
 * at a start: nearest to the share's root first, up to a number of entries.
 */
#pragma once

#include <jansson.h>

#define HIDDEN_LINKS_ENTRIES_MAX 20000 /* looked at in a share */
#define HIDDEN_LINKS_MAX 4096          /* files, as many as bawn-files takes */

/*
 * shares and absent as bawn-files gets them. What lies in another share, or is
 * bawn's own, is not hidden by anybody's wish, and left out. Caller owns it.
 */
json_t *hidden_links_of(const json_t *shares, const json_t *absent);
