/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.c - digests of content, by the name of their algorithm
 */
#include "image/hash.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

struct hash {
	EVP_MD_CTX *ctx; /* owned */
	const EVP_MD *kind;
	const char *algorithm;
};

/* A library that cannot do SHA-256 is broken as an empty memory is. */
static void must(int done)
{
	if (done != 1)
		abort();
}

struct hash *hash_new(const char *algorithm)
{
	struct hash *hash = xcalloc(1, sizeof(*hash));
	bool wide = strcmp(algorithm, "sha512") == 0;

	hash->algorithm = wide ? "sha512" : "sha256";
	hash->kind = wide ? EVP_sha512() : EVP_sha256();
	hash->ctx = EVP_MD_CTX_new();
	must(hash->ctx != NULL);
	must(EVP_DigestInit_ex(hash->ctx, hash->kind, NULL));
	return hash;
}

void hash_free(struct hash *hash)
{
	if (!hash)
		return;
	EVP_MD_CTX_free(hash->ctx);
	free(hash);
}

void hash_add(struct hash *hash, const void *bytes, size_t len)
{
	must(EVP_DigestUpdate(hash->ctx, bytes, len));
}

void hash_finish(struct hash *hash, char name[DIGEST_NAME_MAX])
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1];
	unsigned len = 0;

	must(EVP_DigestFinal_ex(hash->ctx, digest, &len));
	text_hex(digest, len, hex);
	text_format(name, DIGEST_NAME_MAX, "%s:%s", hash->algorithm, hex);
	must(EVP_DigestInit_ex(hash->ctx, hash->kind, NULL));
}

void hash_bytes(const void *bytes, size_t len, const char *like,
		char name[DIGEST_NAME_MAX])
{
	struct hash *hash = hash_new(
		digest_name_is_valid(like) ? digest_name_algorithm(like) : "");

	hash_add(hash, bytes, len);
	hash_finish(hash, name);
	hash_free(hash);
}
