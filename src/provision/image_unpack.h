/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_unpack.h - bawn-image at work on the layers of an image
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/child.h"
#include "base/buffer.h"

struct error;
struct image;

struct image_unpack {
	struct child child;
	int result_fd, log_fd;
	int ready_fd;    /* a byte for each layer that is complete */
	int progress_fd; /* lines of it */
	struct buffer line;
	bool running;
	/* what it told last */
	size_t layer;
	uint64_t bytes;
	/* results */
	uint64_t size_bytes;
	size_t bad_layer; /* whose content is wrong; SIZE_MAX: none is */
};

/* Where each layer is read; borrowed, and all of them may still be filled. */
int image_unpack_start(struct image_unpack *unpack, const struct image *image,
		       const int *layers, int disk_fd, uint64_t size_bytes,
		       struct error *err);
/* So many more layers are complete. One that has failed says so at its end. */
void image_unpack_ready(struct image_unpack *unpack, size_t count);
/* Takes in what it tells now. */
void image_unpack_listen(struct image_unpack *unpack);
/* Waits for its end. */
int image_unpack_finish(struct image_unpack *unpack, struct error *err);
void image_unpack_kill(struct image_unpack *unpack);
