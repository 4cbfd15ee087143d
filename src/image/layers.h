/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - the layers of an image, in turn, into one ext4 image
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "oci/image.h"

struct error;
struct ext4_stats;
struct ext4_writer;

/* Where they are found: the first layer is LAYERS_FD, the next the one after.
 */
#define LAYERS_FD 10
/*
 * A byte comes here for each layer that is complete, in order: layers are
 * unpacked while later ones are still being fetched.
 */
#define LAYERS_READY_FD 3

typedef void layers_progress_fn(size_t layer, uint64_t bytes_read);

struct layers {
	const char *diff_ids[IMAGE_LAYERS_MAX]; /* borrowed; "sha256:…" */
	size_t count;
	size_t bad; /* the one whose content is not what it should be */
};

/*
 * Content that is not what its diff_id says is an error, with `bad` set to the
 * layer; otherwise `bad` is count. limit is for the tar bytes of all.
 */
int layers_unpack(struct layers *layers, uint64_t limit,
		  struct ext4_writer *writer, layers_progress_fn *progress,
		  struct error *err);
