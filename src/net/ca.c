/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca.c - the authority of this sandbox, and certificates by it
 */
#include "net/ca.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "wire/hostname.h"

/*
 * Also the keys of handshakes that are under way lie there, some 64 bytes each:
 * enough for all connections that may be intercepted. Few may lock so little
 * that only the other amount works.
 */
#define LOCKED_BYTES (1024u * 1024)
#define LOCKED_BYTES_FEW (64u * 1024)
#define LOCKED_LEAST 64
#define SERIAL_BYTES 16
#define COMMON_NAME_MAX 64 /* X.520 */

AUTO_DEFINE(bio, BIO *, BIO_free)
AUTO_DEFINE(x509, X509 *, X509_free)

struct leaf {
	struct list link;
	char *name;        /* owned */
	X509 *certificate; /* owned */
	time_t renew_at;
};

void ca_lock_memory(void)
{
	if (CRYPTO_secure_malloc_initialized() ||
	    CRYPTO_secure_malloc_init(LOCKED_BYTES, LOCKED_LEAST) == 1)
		return;
	/* Where no memory may be locked it is only wiped. */
	CRYPTO_secure_malloc_done();
	(void)CRYPTO_secure_malloc_init(LOCKED_BYTES_FEW, LOCKED_LEAST);
}

static void free_leaf(struct leaf *leaf)
{
	X509_free(leaf->certificate);
	free(leaf->name);
	free(leaf);
}

static int read_pair(struct ca *ca, const char *certificate, const char *key)
{
	AUTO(bio) BIO *first = BIO_new_mem_buf(certificate, -1);
	AUTO(bio) BIO *second = BIO_new_mem_buf(key, -1);

	if (!first || !second)
		return -1;
	ca->certificate = PEM_read_bio_X509(first, NULL, NULL, NULL);
	ca->key = PEM_read_bio_PrivateKey(second, NULL, NULL, NULL);
	return ca->certificate && ca->key &&
			       X509_check_private_key(ca->certificate,
						      ca->key) == 1
		       ? 0
		       : -1;
}

static SSL_CTX *make_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	if (!context)
		return NULL;
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
					  SSL_MODE_ENABLE_PARTIAL_WRITE);
	/* Tickets hold no state here; one is enough for who comes again. */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 1);
	return context;
}

int ca_open(struct ca *ca, const char *certificate, const char *key,
	    struct error *err)
{
	*ca = (struct ca){ 0 };
	list_init(&ca->leaves);
	if (!certificate || !key)
		return 0;
	if (read_pair(ca, certificate, key) < 0) {
		ERR_clear_error();
		ca_release(ca);
		return error_set(err, 0, "the authority is malformed");
	}
	ca->leaf_key = EVP_EC_gen("P-256");
	ca->context = make_context();
	if (ca->leaf_key && ca->context)
		return 0;
	ca_release(ca);
	return error_set(err, 0, "OpenSSL makes no keys");
}

void ca_release(struct ca *ca)
{
	while (!list_empty(&ca->leaves)) {
		struct list *node = ca->leaves.next;

		list_remove(node);
		free_leaf(LIST_ENTRY(node, struct leaf, link));
	}
	X509_free(ca->certificate);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	SSL_CTX_free(ca->context);
	*ca = (struct ca){ 0 };
	list_init(&ca->leaves);
}

static int set_serial(X509 *leaf)
{
	uint8_t bytes[SERIAL_BYTES];
	BIGNUM *number;
	bool good;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return -1;
	bytes[0] &= 0x7f; /* positive */
	bytes[0] |= 0x40; /* and always of one length */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	good = number &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(leaf));
	BN_free(number);
	return good ? 0 : -1;
}

static int set_validity(X509 *leaf, time_t now)
{
	time_t from = now - CA_EARLY_SECONDS, until = now + CA_LEAF_SECONDS;

	return X509_time_adj(X509_getm_notBefore(leaf), 0, &from) &&
			       X509_time_adj(X509_getm_notAfter(leaf), 0,
					     &until)
		       ? 0
		       : -1;
}

static int add_extension(X509V3_CTX *ctx, X509 *leaf, int kind,
			 const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, ctx, kind, value);
	int added = extension ? X509_add_ext(leaf, extension, -1) : 0;

	X509_EXTENSION_free(extension);
	return added == 1 ? 0 : -1;
}

/*
 * A name longer than a subject may be stands in the list of names alone. Names
 * are canonical: no byte in them means anything to the list.
 */
static int name_it(X509V3_CTX *ctx, X509 *leaf, const char *name)
{
	bool fits = strlen(name) <= COMMON_NAME_MAX;
	char names[HOSTNAME_MAX + 32];

	if (fits && X509_NAME_add_entry_by_txt(
			    X509_get_subject_name(leaf), "CN", MBSTRING_ASC,
			    (const uint8_t *)name, -1, -1, 0) != 1)
		return -1;
	if (text_format(names, sizeof(names), "%sDNS:%s",
			fits ? "" : "critical,", name) < 0)
		return -1;
	return add_extension(ctx, leaf, NID_subject_alt_name, names);
}

static X509 *make_leaf(const struct ca *ca, const char *name, time_t now)
{
	AUTO(x509) X509 *leaf = X509_new();
	X509V3_CTX ctx;

	if (!leaf)
		return NULL;
	X509V3_set_ctx(&ctx, ca->certificate, leaf, NULL, NULL, 0);
	if (X509_set_version(leaf, X509_VERSION_3) != 1 ||
	    set_serial(leaf) < 0 || set_validity(leaf, now) < 0 ||
	    X509_set_issuer_name(leaf,
				 X509_get_subject_name(ca->certificate)) != 1 ||
	    X509_set_pubkey(leaf, ca->leaf_key) != 1 ||
	    name_it(&ctx, leaf, name) < 0 ||
	    add_extension(&ctx, leaf, NID_basic_constraints,
			  "critical,CA:FALSE") < 0 ||
	    add_extension(&ctx, leaf, NID_key_usage,
			  "critical,digitalSignature") < 0 ||
	    add_extension(&ctx, leaf, NID_ext_key_usage, "serverAuth") < 0 ||
	    add_extension(&ctx, leaf, NID_authority_key_identifier,
			  "keyid:always") < 0 ||
	    X509_sign(leaf, ca->key, EVP_sha256()) == 0)
		return NULL;
	return TAKE_PTR(leaf);
}

static struct leaf *find(const struct ca *ca, const char *name)
{
	for (struct list *node = ca->leaves.next; node != &ca->leaves;
	     node = node->next) {
		struct leaf *leaf = LIST_ENTRY(node, struct leaf, link);

		if (strcmp(leaf->name, name) == 0)
			return leaf;
	}
	return NULL;
}

static void drop(struct ca *ca, struct leaf *leaf)
{
	list_remove(&leaf->link);
	free_leaf(leaf);
	ca->count--;
}

static X509 *leaf_for(struct ca *ca, const char *name)
{
	time_t now = time(NULL);
	struct leaf *leaf = find(ca, name);
	X509 *certificate;

	if (leaf && now < leaf->renew_at) {
		list_remove(&leaf->link);
		list_append(&ca->leaves, &leaf->link);
		return leaf->certificate;
	}
	certificate = make_leaf(ca, name, now);
	if (!certificate)
		return NULL;
	if (leaf)
		drop(ca, leaf);
	if (ca->count >= CA_CACHE_MAX)
		drop(ca, LIST_ENTRY(ca->leaves.next, struct leaf, link));
	leaf = xcalloc(1, sizeof(*leaf));
	leaf->name = xstrdup(name);
	leaf->certificate = certificate;
	leaf->renew_at = now + CA_LEAF_SECONDS - CA_EARLY_SECONDS;
	list_append(&ca->leaves, &leaf->link);
	ca->count++;
	return certificate;
}

SSL *ca_connection(struct ca *ca, const char *name)
{
	X509 *leaf = ca->certificate ? leaf_for(ca, name) : NULL;
	SSL *ssl = leaf ? SSL_new(ca->context) : NULL;

	if (ssl && SSL_use_certificate(ssl, leaf) == 1 &&
	    SSL_use_PrivateKey(ssl, ca->leaf_key) == 1)
		return ssl;
	SSL_free(ssl);
	ERR_clear_error();
	return NULL;
}
