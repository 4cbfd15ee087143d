/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_length.c - how much a guest says that it wrote onto its second disk
 */
#include "cli/spool_length.h"

#include <errno.h>

#include "base/error.h"
#include "base/text.h"

static int take_line(struct spool_length *length, struct error *err)
{
	uint64_t bytes;

	length->line[length->len] = '\0';
	length->len = 0;
	if (text_to_u64(length->line, length->bytes, UINT64_MAX, &bytes) < 0)
		return error_set(err, EPROTO, "its answer is no length");
	if (bytes > length->limit)
		return error_set(err, EFBIG, "the files of its disk");
	length->bytes = bytes;
	length->told = true;
	return 0;
}

int spool_length_feed(struct spool_length *length, const void *bytes,
		      size_t len, struct error *err)
{
	const char *at = bytes;

	for (size_t i = 0; i < len; i++) {
		if (at[i] == '\n') {
			if (take_line(length, err) < 0)
				return -1;
			continue;
		}
		/* a NUL would end the text before its line does */
		if (!at[i] || length->len + 1 == sizeof(length->line))
			return error_set(err, EPROTO,
					 "its answer is no length");
		length->line[length->len++] = at[i];
	}
	return 0;
}

int spool_length_finish(const struct spool_length *length, struct error *err)
{
	if (!length->told || length->len)
		return error_set(err, EPROTO, "its answer is cut");
	return 0;
}
