/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.c - a certificate authority for one sandbox
 */
#include "ca/authority.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

#define SERIAL_BYTES 16
#define COMMON_NAME_MAX 64 /* X.520 */
#define DAY_SECONDS 86400

AUTO_DEFINE(bio, BIO *, BIO_free)
AUTO_DEFINE(key, EVP_PKEY *, EVP_PKEY_free)
AUTO_DEFINE(x509, X509 *, X509_free)

static const struct {
	int kind;
	const char *value;
} extensions[] = {
	/* No authority below it. */
	{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
	{ NID_key_usage, "critical,keyCertSign,cRLSign" },
	{ NID_subject_key_identifier, "hash" },
};

static int set_serial(X509 *certificate)
{
	uint8_t bytes[SERIAL_BYTES];
	BIGNUM *number;
	bool good;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return -1;
	bytes[0] = (bytes[0] & 0x7f) | 0x40; /* positive, of one length */
	number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	good = number &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
	BN_free(number);
	return good ? 0 : -1;
}

static int set_name(X509 *certificate, const char *sandbox)
{
	X509_NAME *name = X509_get_subject_name(certificate);
	char text[COMMON_NAME_MAX + 1];

	/* A long name is cut: it is for people, and the key is what counts. */
	(void)text_format(text, sizeof(text), "bawn sandbox %.40s", sandbox);
	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
					  (const uint8_t *)text, -1, -1,
					  0) == 1 &&
			       X509_set_issuer_name(certificate, name) == 1
		       ? 0
		       : -1;
}

static int add_extensions(X509 *certificate)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, certificate, certificate, NULL, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++) {
		X509_EXTENSION *one = X509V3_EXT_conf_nid(
			NULL, &ctx, extensions[i].kind, extensions[i].value);
		int added = one ? X509_add_ext(certificate, one, -1) : 0;

		X509_EXTENSION_free(one);
		if (added != 1)
			return -1;
	}
	return 0;
}

static X509 *make_certificate(const char *sandbox, EVP_PKEY *key)
{
	AUTO(x509) X509 *made = X509_new();

	if (!made || X509_set_version(made, X509_VERSION_3) != 1 ||
	    set_serial(made) < 0 ||
	    !X509_gmtime_adj(X509_getm_notBefore(made), -DAY_SECONDS) ||
	    !X509_time_adj_ex(X509_getm_notAfter(made), AUTHORITY_DAYS, 0,
			      NULL) ||
	    X509_set_pubkey(made, key) != 1 || set_name(made, sandbox) < 0 ||
	    add_extensions(made) < 0 || X509_sign(made, key, EVP_sha256()) == 0)
		return NULL;
	return TAKE_PTR(made);
}

static int take_text(BIO *bio, char out[AUTHORITY_PEM_MAX])
{
	int len = BIO_read(bio, out, AUTHORITY_PEM_MAX - 1);

	if (len <= 0 || BIO_pending(bio) > 0)
		return -1;
	out[len] = '\0';
	return 0;
}

int authority_make(const char *sandbox, struct authority_pair *out,
		   struct error *err)
{
	AUTO(key) EVP_PKEY *key = EVP_EC_gen("P-256");
	AUTO(x509) X509 *made = key ? make_certificate(sandbox, key) : NULL;
	AUTO(bio) BIO *first = BIO_new(BIO_s_mem());
	AUTO(bio) BIO *second = BIO_new(BIO_s_secmem());

	if (!made || !first || !second ||
	    PEM_write_bio_X509(first, made) != 1 ||
	    PEM_write_bio_PrivateKey(second, key, NULL, NULL, 0, NULL, NULL) !=
		    1 ||
	    take_text(first, out->certificate) < 0 ||
	    take_text(second, out->key) < 0)
		return error_set(err, 0, "OpenSSL makes no certificate");
	return 0;
}
