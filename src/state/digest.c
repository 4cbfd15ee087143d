/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - SHA-256, as lower-case hex
 */
#include "state/digest.h"

#include <errno.h>
#include <openssl/evp.h>
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

AUTO_DEFINE(evp, EVP_MD_CTX *, EVP_MD_CTX_free)

/* A library that cannot do SHA-256 is broken as an empty memory is. */
static void must(int done)
{
	if (done != 1)
		abort();
}

static EVP_MD_CTX *begin(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	must(ctx != NULL);
	must(EVP_DigestInit_ex(ctx, EVP_sha256(), NULL));
	return ctx;
}

static void finish(EVP_MD_CTX *ctx, char hex[DIGEST_HEX])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	must(EVP_DigestFinal_ex(ctx, sum, &len));
	must(len == 32);
	text_hex(sum, len, hex);
}

void digest_bytes(const void *bytes, size_t len, char hex[DIGEST_HEX])
{
	AUTO(evp) EVP_MD_CTX *ctx = begin();

	must(EVP_DigestUpdate(ctx, bytes, len));
	finish(ctx, hex);
}

static void add_zeros(EVP_MD_CTX *ctx, off_t count)
{
	static const uint8_t zeros[CHUNK];

	while (count > 0) {
		size_t part = count < (off_t)CHUNK ? (size_t)count : CHUNK;

		must(EVP_DigestUpdate(ctx, zeros, part));
		count -= (off_t)part;
	}
}

int digest_fd(int fd, char hex[DIGEST_HEX], struct error *err)
{
	AUTO(evp) EVP_MD_CTX *ctx = begin();
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
		must(EVP_DigestUpdate(ctx, chunk, (size_t)n));
		pos += n;
	}
	finish(ctx, hex);
	return 0;
}

static void add_number(EVP_MD_CTX *ctx, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	must(EVP_DigestUpdate(ctx, bytes, sizeof(bytes)));
}

/* len is a multiple of BLOCK. */
static void add_blocks(EVP_MD_CTX *ctx, const uint8_t *bytes, size_t len,
		       off_t pos)
{
	static const uint8_t zeros[BLOCK];

	for (size_t i = 0; i < len; i += BLOCK) {
		if (!memcmp(bytes + i, zeros, BLOCK))
			continue;
		add_number(ctx, (uint64_t)pos + i);
		must(EVP_DigestUpdate(ctx, bytes + i, BLOCK));
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
	AUTO(evp) EVP_MD_CTX *ctx = begin();
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
