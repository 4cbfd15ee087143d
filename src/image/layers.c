/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - the layers of an image, in turn, into one ext4 image
 */
#include "image/layers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "image/layer.h"
#include "image/tar_stream.h"

AUTO_DEFINE(tar_stream, struct tar_stream *, tar_stream_free)

struct progress {
	layers_progress_fn *show;
	struct tar_stream *stream;
	size_t layer;
};

static void on_progress(void *ctx, uint64_t bytes, uint64_t entries)
{
	struct progress *progress = ctx;

	progress->show(progress->layer,
		       tar_stream_bytes_read(progress->stream));
}

static int wait_for(size_t layer, struct error *err)
{
	char byte;
	ssize_t got;

	do
		got = read(LAYERS_READY_FD, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(err, errno, "waiting for layer %zu",
				 layer + 1);
	return got ? 0 : error_set(err, 0, "layer %zu never came", layer + 1);
}

static int check_content(struct tar_stream *stream, const char *diff_id,
			 struct error *err)
{
	char hex[TAR_STREAM_DIGEST];

	if (tar_stream_digest(stream, hex, err) < 0)
		return -1;
	if (strcmp(digest_name_hex(diff_id), hex) == 0)
		return 0;
	return error_set(err, 0,
			 "its content is not what the image's configuration "
			 "says (%.19s...)",
			 diff_id);
}

static int unpack_one(struct layers *layers, size_t i, uint64_t *limit,
		      struct ext4_writer *writer, layers_progress_fn *show,
		      struct error *err)
{
	AUTO(tar_stream)
	struct tar_stream *stream =
		tar_stream_new(LAYERS_FD + (int)i, NULL, 0, *limit);
	struct progress progress = { show, stream, i };
	int result = layer_unpack(stream, LAYER_OF_MANY, writer, on_progress,
				  &progress, err);

	if (result < 0 || check_content(stream, layers->diff_ids[i], err) < 0) {
		layers->bad = i;
		return error_prefix(err, "layer %zu", i + 1);
	}
	*limit -= tar_stream_bytes(stream);
	show(i, tar_stream_bytes_read(stream));
	return 0;
}

int layers_unpack(struct layers *layers, uint64_t limit,
		  struct ext4_writer *writer, layers_progress_fn *progress,
		  struct error *err)
{
	layers->bad = layers->count;
	for (size_t i = 0; i < layers->count; i++)
		if (wait_for(i, err) < 0 ||
		    unpack_one(layers, i, &limit, writer, progress, err) < 0)
			return -1;
	return 0;
}
