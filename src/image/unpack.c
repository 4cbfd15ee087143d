/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.c - single compressed files: kernels, kernel modules, archives
 */
#include "image/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <archive.h>
#include <archive_entry.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/bzimage.h"

#define STREAM_BYTES ((size_t)256 * 1024)
#define PEEK_BYTES 16
#define ELF_MAGIC "\177ELF"
#define ARM64_MAGIC_AT 56
#define ARM64_MAGIC "ARM\x64"

static const struct {
	const char *magic;
	size_t len;
	int (*support)(struct archive *archive);
} packings[] = {
	{ "\x1f\x8b", 2, archive_read_support_filter_gzip },
	{ "\xfd"
	  "7zXZ",
	  5, archive_read_support_filter_xz },
	{ "\x28\xb5\x2f\xfd", 4, archive_read_support_filter_zstd },
	{ "BZh", 3, archive_read_support_filter_bzip2 },
	{ "\x02\x21\x4c\x18", 4, archive_read_support_filter_lz4 },
	{ "\x04\x22\x4d\x18", 4, archive_read_support_filter_lz4 },
	{ "\x5d\x00\x00", 3, archive_read_support_filter_lzma },
};

static int fail(struct archive *archive, struct error *err)
{
	const char *text = archive_error_string(archive);
	char shown[200];

	text = text ? text : "unknown error";
	text_printable(text, strlen(text), shown, sizeof(shown));
	return error_set(err, 0, "cannot decompress: %s", shown);
}

static int copy_out(struct archive *archive, int out, uint64_t limit,
		    struct error *err)
{
	uint64_t total = 0;

	for (;;) {
		const void *bytes;
		size_t len = 0;
		la_int64_t offset;
		int code =
			archive_read_data_block(archive, &bytes, &len, &offset);

		if (code == ARCHIVE_EOF)
			return 0;
		if (code != ARCHIVE_OK && code != ARCHIVE_WARN)
			return fail(archive, err);
		total += len;
		if (total > limit)
			return error_set(err, 0,
					 "it unpacks to more than %llu MiB",
					 (unsigned long long)limit >> 20);
		if (fileio_write_all(out, bytes, len, err) < 0)
			return -1;
	}
}

/* The row for these bytes, or -1: they are not compressed. */
static int packing_of(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++)
		if (len > packings[i].len &&
		    memcmp(bytes, packings[i].magic, packings[i].len) == 0)
			return (int)i;
	return -1;
}

static int decompress(int packing, const void *bytes, size_t len, int out,
		      struct error *err)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	int result;

	if (!archive || packings[packing].support(archive) != ARCHIVE_OK ||
	    archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_open_memory(archive, bytes, len) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		result = fail(archive, err);
	else
		result = copy_out(archive, out, UNPACK_OUTPUT_MAX, err);
	archive_read_free(archive);
	return result;
}

static int write_unpacked(const void *bytes, size_t len, int out,
			  struct error *err)
{
	int packing = packing_of(bytes, len);

	if (packing < 0)
		return fileio_write_all(out, bytes, len, err);
	return decompress(packing, bytes, len, out, err);
}

int unpack_file(int in, int out, struct error *err)
{
	AUTO_BUFFER struct buffer input = BUFFER_INIT(UNPACK_INPUT_MAX);

	if (fileio_read_fd(in, &input, err) < 0)
		return error_prefix(err, "reading the file");
	return write_unpacked(input.data, input.len, out, err);
}

static bool has(const struct buffer *buf, size_t at, const char *magic)
{
	return buf->len >= at + strlen(magic) &&
	       memcmp(buf->data + at, magic, strlen(magic)) == 0;
}

static int check_elf(int out, struct error *err)
{
	char magic[4] = { 0 };

	if (pread(out, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, ELF_MAGIC, sizeof(magic)) != 0)
		return error_set(err, 0,
				 "the bzImage's payload is no ELF "
				 "file");
	return 0;
}

int unpack_kernel(int in, int out, struct error *err)
{
	AUTO_BUFFER struct buffer input = BUFFER_INIT(UNPACK_INPUT_MAX);
	struct bzimage_payload payload;
	int packing;

	if (fileio_read_fd(in, &input, err) < 0)
		return error_prefix(err, "reading the kernel");
	if (has(&input, 0, ELF_MAGIC) ||
	    has(&input, ARM64_MAGIC_AT, ARM64_MAGIC) ||
	    packing_of(input.data, input.len) >= 0)
		return write_unpacked(input.data, input.len, out, err);
	if (bzimage_parse(input.data, input.len, &payload, err) < 0)
		return -1;
	packing = packing_of(input.data + payload.offset, payload.len);
	if (packing < 0)
		return error_set(err, 0, "the kernel's compression is unknown");
	if (decompress(packing, input.data + payload.offset, payload.len, out,
		       err) < 0)
		return -1;
	return check_elf(out, err);
}

/* ---- as it comes ---- */

struct input {
	int fd;
	uint8_t bytes[STREAM_BYTES];
	size_t peeked; /* bytes at the front, read to see the kind */
};

static ssize_t read_more(struct input *input, size_t have)
{
	ssize_t got;

	do
		got = read(input->fd, input->bytes + have,
			   sizeof(input->bytes) - have);
	while (got < 0 && errno == EINTR);
	return got;
}

static la_ssize_t on_read(struct archive *archive, void *ctx,
			  const void **bytes)
{
	struct input *input = ctx;
	ssize_t got = (ssize_t)input->peeked;

	input->peeked = 0;
	if (!got)
		got = read_more(input, 0);
	*bytes = input->bytes;
	if (got < 0)
		archive_set_error(archive, errno, "reading the archive");
	return got;
}

static int copy_plain(struct input *input, int out, uint64_t limit,
		      struct error *err)
{
	ssize_t got = (ssize_t)input->peeked;
	uint64_t total = 0;

	while (got > 0) {
		total += (uint64_t)got;
		if (total > limit)
			return error_set(err, 0, "it is larger than %llu MiB",
					 (unsigned long long)limit >> 20);
		if (fileio_write_all(out, input->bytes, (size_t)got, err) < 0)
			return -1;
		got = read_more(input, 0);
	}
	return got < 0 ? error_set(err, errno, "reading the archive") : 0;
}

int unpack_stream(int in, int out, uint64_t limit, struct error *err)
{
	AUTO_FREE struct input *input = xcalloc(1, sizeof(*input));
	struct archive_entry *entry;
	struct archive *archive;
	ssize_t got = 1;
	int packing, result;

	input->fd = in;
	while (got > 0 && input->peeked < PEEK_BYTES) {
		got = read_more(input, input->peeked);
		input->peeked += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return error_set(err, errno, "reading the archive");
	packing = packing_of(input->bytes, input->peeked);
	if (packing < 0)
		return copy_plain(input, out, limit, err);
	archive = archive_read_new();
	if (!archive || packings[packing].support(archive) != ARCHIVE_OK ||
	    archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_open(archive, input, NULL, on_read, NULL) !=
		    ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		result = fail(archive, err);
	else
		result = copy_out(archive, out, limit, err);
	archive_read_free(archive);
	return result;
}
