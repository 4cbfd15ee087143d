/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tar_read.c - archives: bounded, beneath the root, and the same in
 * pieces as in one
 */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"
#include "lib/fuzz.h"
#include "tar/tar_read.h"

#define ENTRIES 64
#define BYTES (1u << 20)

struct seen {
	uint64_t entries, ends, left, sum;
};

static void add(struct seen *seen, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		seen->sum = seen->sum * 31 + at[i];
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct seen *seen = ctx;
	char again[TAR_PATH_MAX];

	FUZZ_CHECK(seen->entries == seen->ends && !seen->left);
	FUZZ_CHECK(++seen->entries <= ENTRIES && entry->size <= BYTES);
	FUZZ_CHECK(!*entry->path ||
		   (tar_path_normalise(entry->path, strlen(entry->path), again,
				       err) == 0 &&
		    !strcmp(entry->path, again)));
	FUZZ_CHECK(!entry->size || S_ISREG(entry->mode));
	FUZZ_CHECK(!S_ISLNK(entry->mode) || *entry->target);
	FUZZ_CHECK(entry->mtime_ns < 1000000000);
	for (size_t i = 0; i < entry->xattr_count; i++) {
		FUZZ_CHECK(text_starts(entry->xattrs[i].name, "user."));
		add(seen, entry->xattrs[i].value, entry->xattrs[i].len);
	}
	seen->left = entry->size;
	add(seen, entry->path, strlen(entry->path));
	return 0;
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	struct seen *seen = ctx;

	FUZZ_CHECK(len && len <= seen->left);
	seen->left -= len;
	add(seen, bytes, len);
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	struct seen *seen = ctx;

	FUZZ_CHECK(!seen->left && ++seen->ends == seen->entries);
	return 0;
}

static int parse(const uint8_t *data, size_t size, size_t piece,
		 struct seen *seen)
{
	struct tar_limits limits = { ENTRIES, BYTES };
	struct tar_events events = { on_entry, on_data, on_end, seen };
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	struct error err = { 0 };
	int result = 0;

	*seen = (struct seen){ 0 };
	for (size_t at = 0; at < size && result == 0; at += piece)
		result = tar_reader_feed(reader, data + at,
					 piece < size - at ? piece : size - at,
					 &err);
	if (result == 0)
		result = tar_reader_finish(reader, &err);
	tar_reader_free(reader);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, pieces;

	if (parse(data, size, size + 1, &whole) == 0)
		FUZZ_CHECK(parse(data, size, 509, &pieces) == 0 &&
			   pieces.sum == whole.sum &&
			   pieces.entries == whole.entries);
	return 0;
}
