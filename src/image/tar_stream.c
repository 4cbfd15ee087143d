/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_stream.c - bytes of an archive: read, decompressed, hashed, bounded
 */
#include "image/tar_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#include <archive.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#define READ_BYTES ((size_t)1024 * 1024)
#define PEEK_BYTES 4

struct tar_stream {
	int fd; /* borrowed; -1: memory */
	const uint8_t *memory;
	size_t memory_left;
	uint8_t *buf;  /* owned */
	size_t peeked; /* bytes at the front of buf, read to see the kind */
	bool started;
	struct archive *filter; /* owned; NULL for a plain tar */
	EVP_MD_CTX *hash;       /* owned */
	uint64_t total, limit, input;
};

struct tar_stream *tar_stream_new(int fd, const void *bytes, size_t len,
				  uint64_t limit)
{
	struct tar_stream *stream = xcalloc(1, sizeof(*stream));

	stream->fd = fd;
	stream->memory = bytes;
	stream->memory_left = len;
	stream->limit = limit;
	stream->buf = xmalloc(READ_BYTES);
	stream->hash = EVP_MD_CTX_new();
	/* OpenSSL reads its configuration here. */
	if (!stream->hash ||
	    EVP_DigestInit_ex(stream->hash, EVP_sha256(), NULL) != 1)
		abort();
	return stream;
}

void tar_stream_free(struct tar_stream *stream)
{
	if (!stream)
		return;
	if (stream->filter)
		archive_read_free(stream->filter);
	EVP_MD_CTX_free(stream->hash);
	free(stream->buf);
	free(stream);
}

static ssize_t read_some(struct tar_stream *stream, void *to, size_t max)
{
	ssize_t got;

	if (stream->fd < 0) {
		size_t part =
			max < stream->memory_left ? max : stream->memory_left;

		if (part)
			memcpy(to, stream->memory, part);
		stream->memory += part;
		stream->memory_left -= part;
		stream->input += part;
		return (ssize_t)part;
	}
	do
		got = read(stream->fd, to, max);
	while (got < 0 && errno == EINTR);
	stream->input += got > 0 ? (uint64_t)got : 0;
	return got;
}

/* What read() gives, after what was looked at before. */
static ssize_t raw_next(struct tar_stream *stream)
{
	ssize_t got = (ssize_t)stream->peeked;

	stream->peeked = 0;
	return got ? got : read_some(stream, stream->buf, READ_BYTES);
}

static la_ssize_t on_filter_read(struct archive *archive, void *ctx,
				 const void **bytes)
{
	struct tar_stream *stream = ctx;
	ssize_t got = raw_next(stream);

	*bytes = stream->buf;
	if (got < 0)
		archive_set_error(archive, errno, "reading the archive");
	return got;
}

static int open_filter(struct tar_stream *stream, struct error *err)
{
	struct archive *filter = archive_read_new();

	stream->filter = filter;
	if (!filter || archive_read_support_filter_gzip(filter) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(filter) != ARCHIVE_OK ||
	    archive_read_support_format_raw(filter) != ARCHIVE_OK)
		return error_set(err, 0, "libarchive lacks gzip or zstd");
	return 0;
}

static int start_filter(struct tar_stream *stream, struct error *err)
{
	struct archive_entry *entry;

	if (open_filter(stream, err) < 0)
		return -1;
	if (archive_read_open(stream->filter, stream, NULL, on_filter_read,
			      NULL) != ARCHIVE_OK ||
	    archive_read_next_header(stream->filter, &entry) != ARCHIVE_OK)
		return error_set(err, 0, "cannot decompress: %s",
				 archive_error_string(stream->filter));
	return 0;
}

static bool is_packed(const uint8_t *bytes, size_t len)
{
	static const uint8_t gzip[] = { 0x1f, 0x8b };
	static const uint8_t zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
	/* a frame to be skipped; its first byte ends in any digit */
	static const uint8_t skipped[] = { 0x2a, 0x4d, 0x18 };

	return (len >= 2 && memcmp(bytes, gzip, 2) == 0) ||
	       (len >= PEEK_BYTES && (memcmp(bytes, zstd, 4) == 0 ||
				      ((bytes[0] & 0xf0) == 0x50 &&
				       memcmp(bytes + 1, skipped, 3) == 0)));
}

static int start(struct tar_stream *stream, struct error *err)
{

	stream->started = true;
	while (stream->peeked < PEEK_BYTES) {
		ssize_t got = read_some(stream, stream->buf + stream->peeked,
					READ_BYTES - stream->peeked);

		if (got < 0)
			return error_set(err, errno, "reading the archive");
		if (got == 0)
			break;
		stream->peeked += (size_t)got;
	}
	if (stream->peeked == 0)
		return error_set(err, 0, "the archive is empty");
	if (is_packed(stream->buf, stream->peeked))
		return start_filter(stream, err);
	return 0;
}

static int64_t filtered_next(struct tar_stream *stream, const void **bytes,
			     struct error *err)
{
	size_t len = 0;
	la_int64_t offset;
	int code =
		archive_read_data_block(stream->filter, bytes, &len, &offset);

	if (code == ARCHIVE_EOF)
		return 0;
	if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
		return error_set(err, 0, "cannot decompress: %s",
				 archive_error_string(stream->filter));
	return (int64_t)len;
}

int64_t tar_stream_next(struct tar_stream *stream, const void **bytes,
			struct error *err)
{
	int64_t len;

	if (!stream->started && start(stream, err) < 0)
		return -1;
	if (stream->filter) {
		len = filtered_next(stream, bytes, err);
	} else {
		*bytes = stream->buf;
		len = raw_next(stream);
		if (len < 0)
			return error_set(err, errno, "reading the archive");
	}
	if (len <= 0)
		return len;
	stream->total += (uint64_t)len;
	if (stream->total > stream->limit)
		return error_set(err, 0,
				 "the archive is larger than the image can be");
	if (EVP_DigestUpdate(stream->hash, *bytes, (size_t)len) != 1)
		return error_set(err, 0, "SHA-256 failed");
	return len;
}

uint64_t tar_stream_bytes(const struct tar_stream *stream)
{
	return stream->total;
}

uint64_t tar_stream_bytes_read(const struct tar_stream *stream)
{
	return stream->input;
}

int tar_stream_digest(struct tar_stream *stream, char hex[TAR_STREAM_DIGEST],
		      struct error *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (EVP_DigestFinal_ex(stream->hash, digest, &len) != 1 || len != 32)
		return error_set(err, 0, "SHA-256 failed");
	text_hex(digest, len, hex);
	return 0;
}
