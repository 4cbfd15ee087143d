/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_read.h - bytes to entries, as they come
 *
 * A push parser for archives that somebody hostile wrote: strict, bounded,
 * and nothing is believed that the limits do not cover.
 */
#pragma once

#include "tar/tar.h"

struct error;
struct tar_reader;

struct tar_limits {
	uint64_t entries;
	uint64_t bytes; /* of the whole archive */
};

/*
 * An entry comes with entry(), then its content with data() in pieces of any
 * size (none for an empty one), then end(). What they are given is valid
 * during the call. A failure of theirs ends the reading.
 */
struct tar_events {
	int (*entry)(void *ctx, const struct tar_entry *entry,
		     struct error *err);
	int (*data)(void *ctx, const void *bytes, size_t len,
		    struct error *err);
	int (*end)(void *ctx, struct error *err);
	void *ctx;
};

/* Both are copied. */
struct tar_reader *tar_reader_new(const struct tar_limits *limits,
				  const struct tar_events *events);
void tar_reader_free(struct tar_reader *reader);
/* After a failure nothing more may be fed. */
int tar_reader_feed(struct tar_reader *reader, const void *bytes, size_t len,
		    struct error *err);
/* There is no more: -1 when the archive was cut off. */
int tar_reader_finish(const struct tar_reader *reader, struct error *err);
