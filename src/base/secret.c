/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.c - bytes that must not be seen elsewhere
 */
#include "base/secret.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

struct secret {
	size_t mapped, len;
	uint8_t bytes[];
};

static size_t mapped_size(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (sizeof(struct secret) + len + 1 + page - 1) / page * page;
}

struct secret *secret_new(const void *bytes, size_t len, struct error *err)
{
	struct secret *secret;
	size_t size;

	if (len > SECRET_MAX) {
		error_set(err, 0, "a secret has at most %zu bytes", SECRET_MAX);
		return NULL;
	}
	size = mapped_size(len);
	secret = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (secret == MAP_FAILED) {
		error_set(err, errno, "memory for a secret");
		return NULL;
	}
	if (mlock(secret, size) < 0 ||
	    madvise(secret, size, MADV_DONTDUMP) < 0 ||
	    madvise(secret, size, MADV_WIPEONFORK) < 0) {
		error_set(err, errno,
			  "cannot lock memory for a secret (see ulimit -l)");
		munmap(secret, size);
		return NULL;
	}
	secret->mapped = size;
	secret->len = len;
	if (bytes && len)
		memcpy(secret->bytes, bytes, len);
	return secret;
}

void secret_free(struct secret *secret)
{
	size_t size;

	if (!secret)
		return;
	size = secret->mapped;
	explicit_bzero(secret, size);
	munmap(secret, size);
}

uint8_t *secret_data(struct secret *secret)
{
	return secret->bytes;
}

const char *secret_text(const struct secret *secret)
{
	return (const char *)secret->bytes;
}

size_t secret_len(const struct secret *secret)
{
	return secret->len;
}

void secret_wipe(void *bytes, size_t len)
{
	if (len)
		explicit_bzero(bytes, len);
}

void secret_wipe_text(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
}

void secret_free_memory(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}
