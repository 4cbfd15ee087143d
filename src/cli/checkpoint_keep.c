/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_keep.c - how many checkpoints a sandbox keeps
 */
#include "cli/checkpoint_keep.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/text.h"
#include "cli/checkpoint.h"

#define KEEP_FILE "keep"
#define TEXT_MAX 64

static int parse_one(const char *text, struct checkpoint_keep *keep)
{
	uint64_t value;

	if (text_to_u64(text, 1, CHECKPOINT_KEEP_COUNT_MAX, &value) == 0) {
		keep->count = (unsigned)value;
		return 0;
	}
	/* A bare number is a count, also one that is too large. */
	if (strspn(text, "0123456789") == strlen(text) ||
	    text_to_size(text, &value) < 0 || value == 0)
		return -1;
	keep->bytes = value;
	return 0;
}

int checkpoint_keep_parse(const char *text, struct checkpoint_keep *keep,
			  struct error *err)
{
	struct checkpoint_keep parsed = *keep;
	const char *comma = strchr(text, ',');
	char first[TEXT_MAX];

	if ((size_t)(comma ? comma - text : 0) < sizeof(first) &&
	    strlen(text) < sizeof(first)) {
		text_copy(first, sizeof(first), text);
		if (comma)
			first[comma - text] = '\0';
		if (parse_one(first, &parsed) == 0 &&
		    (!comma || parse_one(comma + 1, &parsed) == 0)) {
			*keep = parsed;
			return 0;
		}
	}
	return error_set(err, EINVAL,
			 "%s: how much is kept is a number up to %d, a size "
			 "like 8G, or both: 20,8G",
			 text, CHECKPOINT_KEEP_COUNT_MAX);
}

void checkpoint_keep_load(int folder, struct checkpoint_keep *keep)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TEXT_MAX);

	*keep = (struct checkpoint_keep){ .count = CHECKPOINT_KEEP_COUNT,
					  .bytes = CHECKPOINT_KEEP_BYTES };
	if (fileio_read(folder, KEEP_FILE, &text, NULL) == 0 &&
	    buffer_append(&text, "", 1) == 0)
		(void)checkpoint_keep_parse((const char *)text.data, keep,
					    NULL);
}

int checkpoint_keep_save(int folder, const struct checkpoint_keep *keep,
			 struct error *err)
{
	char text[TEXT_MAX];

	text_format(text, sizeof(text), "%u,%" PRIu64 "B", keep->count,
		    keep->bytes);
	return fileio_replace(folder, KEEP_FILE, text, strlen(text), 0600, 0,
			      err);
}

void checkpoint_keep_choose(const struct checkpoint *list, size_t count,
			    const struct checkpoint_keep *keep, bool *drop)
{
	size_t unnamed = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		unnamed += list[i].automatic;
		bytes += list[i].bytes;
		drop[i] = false;
	}
	for (size_t i = 0; i + 1 < count; i++) {
		if (!list[i].automatic ||
		    (unnamed <= keep->count && bytes <= keep->bytes))
			continue;
		drop[i] = true;
		unnamed--;
		bytes -= list[i].bytes;
	}
}
