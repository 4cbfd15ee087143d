/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat_json.h - one value of a JSON object, without a library
 *
 * For the few lines that `ralph --status` shows of a file that anybody in the
 * guest may have written. Lenient where that is safe: what is not understood
 * is not found.
 */
#pragma once

#include <stddef.h>

/*
 * The text of a number, a word or a string that is a member of the outermost
 * object; printable. -1 when there is none.
 */
int flat_json_find(const char *text, size_t len, const char *key, char *out,
		   size_t size);
