/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - SHA-256, as lower-case hex
 *
 * The plain functions, linked statically: loading the whole library for its
 * EVP interface costs every command 3 ms, as much as all the rest of its start.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "state/digest.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define CHUNK (256u * 1024)
#define BLOCK 4096u

/* A library that cannot do SHA-256 is broken as an empty memory is. */
static void must(int done)
{
	if (done != 1)
		abort();
}

static SHA256_CTX *begin(SHA256_CTX *ctx)
{
	must(SHA256_Init(ctx));
	return ctx;
}

static void add(SHA256_CTX *ctx, const void *bytes, size_t len)
{
	must(SHA256_Update(ctx, bytes, len));
}

static void finish(SHA256_CTX *ctx, char hex[DIGEST_HEX])
{
	unsigned char sum[SHA256_DIGEST_LENGTH];

	must(SHA256_Final(sum, ctx));
	text_hex(sum, sizeof(sum), hex);
}

void digest_bytes(const void *bytes, size_t len, char hex[DIGEST_HEX])
{
	SHA256_CTX state;
	SHA256_CTX *ctx = begin(&state);

	add(ctx, bytes, len);
	finish(ctx, hex);
}

static void add_zeros(SHA256_CTX *ctx, off_t count)
{
	static const uint8_t zeros[CHUNK];

	while (count > 0) {
		size_t part = count < (off_t)CHUNK ? (size_t)count : CHUNK;

		add(ctx, zeros, part);
		count -= (off_t)part;
	}
}

int digest_fd(int fd, char hex[DIGEST_HEX], struct error *err)
{
	SHA256_CTX state;
	SHA256_CTX *ctx = begin(&state);
	AUTO_FREE uint8_t *chunk = xmalloc(CHUNK);
	off_t pos = 0;

	for (;;) {
		off_t data = lseek(fd, pos, SEEK_DATA);
		ssize_t n;

		/* a hole is not read from the disk, but it counts as zeros */
		if (data > pos) {
			add_zeros(ctx, data - pos);
			pos = data;
		} else if (data < 0 && errno == ENXIO) {
			add_zeros(ctx, lseek(fd, 0, SEEK_END) - pos);
			break;
		}
		n = pread(fd, chunk, CHUNK, pos);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, errno, "reading for a checksum");
		if (n == 0)
			break;
		add(ctx, chunk, (size_t)n);
		pos += n;
	}
	finish(ctx, hex);
	return 0;
}

static void add_number(SHA256_CTX *ctx, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	add(ctx, bytes, sizeof(bytes));
}

/* len is a multiple of BLOCK. */
static void add_blocks(SHA256_CTX *ctx, const uint8_t *bytes, size_t len,
		       off_t pos)
{
	static const uint8_t zeros[BLOCK];

	for (size_t i = 0; i < len; i += BLOCK) {
		if (!memcmp(bytes + i, zeros, BLOCK))
			continue;
		add_number(ctx, (uint64_t)pos + i);
		add(ctx, bytes + i, BLOCK);
	}
}

/* A whole chunk, but at the end of the file, which is filled up with zeros. */
static int read_chunk(int fd, uint8_t *chunk, off_t pos)
{
	size_t have = 0;

	while (have < CHUNK) {
		ssize_t n = pread(fd, chunk + have, CHUNK - have,
				  pos + (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	if (have < CHUNK)
		memset(chunk + have, 0, CHUNK - have);
	return 0;
}

int digest_sparse_fd(int fd, char hex[DIGEST_HEX], struct error *err)
{
	SHA256_CTX state;
	SHA256_CTX *ctx = begin(&state);
	AUTO_FREE uint8_t *chunk = xmalloc(CHUNK);
	struct stat st;
	off_t pos = 0;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "reading for a checksum");
	add_number(ctx, (uint64_t)st.st_size);
	while (pos < st.st_size) {
		off_t data = lseek(fd, pos, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			break;
		if (data > pos)
			pos = data - data % BLOCK;
		if (read_chunk(fd, chunk, pos) < 0)
			return error_set(err, errno, "reading for a checksum");
		add_blocks(ctx, chunk, CHUNK, pos);
		pos += CHUNK;
	}
	finish(ctx, hex);
	return 0;
}
