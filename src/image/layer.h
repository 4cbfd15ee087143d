/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - a tar archive, entry by entry, into an ext4 image
 *
 * The archive is hostile. An entry that would leave the tree, lie behind a
 * link, claim what cannot be, or link to what is not there ends everything
 * with one line that names it; nothing is skipped silently.
 */
#pragma once

#include <stdint.h>

struct error;
struct ext4_writer;
struct tar_stream;

/* Called now and then: bytes of tar read, entries done. */
typedef void layer_progress_fn(void *ctx, uint64_t bytes, uint64_t entries);

/*
 * Libraries look for character sets and the like on their first use; this is
 * that first use, on bytes of our own, for before the confinement.
 */
int layer_warm_up(struct error *err);
enum layer_kind {
	LAYER_WHOLE,   /* a tar that is all there is; names are only names */
	LAYER_OF_MANY, /* whiteouts count, and links on the way are followed */
};

/* Reads the stream to its very end, so that its digest covers all of it. */
int layer_unpack(struct tar_stream *stream, enum layer_kind kind,
		 struct ext4_writer *writer, layer_progress_fn *progress,
		 void *ctx, struct error *err);
