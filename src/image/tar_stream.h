/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_stream.h - bytes of an archive: read, decompressed, hashed, bounded
 *
 * The digest is of the tar itself, whatever it was packed with, so that the
 * same content has one name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct tar_stream;

#define TAR_STREAM_DIGEST 65

/*
 * Reads from fd (borrowed) or, when fd is -1, from (bytes, len). Plain, gzip
 * or zstd, by the first bytes. More than limit bytes of tar are an error.
 * Everything that would open a file is done here, before the confinement; no
 * byte is read.
 */
struct tar_stream *tar_stream_new(int fd, const void *bytes, size_t len,
				  uint64_t limit);
void tar_stream_free(struct tar_stream *stream);
/* The next piece, valid until the next call; 0 at the end, -1 with err. */
int64_t tar_stream_next(struct tar_stream *stream, const void **bytes,
			struct error *err);
uint64_t tar_stream_bytes(const struct tar_stream *stream);
/* Of the input, packed as it is. */
uint64_t tar_stream_bytes_read(const struct tar_stream *stream);
/* After the last piece. Lower-case hex. */
int tar_stream_digest(struct tar_stream *stream, char hex[TAR_STREAM_DIGEST],
		      struct error *err);
