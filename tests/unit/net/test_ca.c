/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ca.c - the authority of a sandbox, and certificates by it
 */
#include "net/ca.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/error.h"
#include "base/text.h"
#include "ca/authority.h"
#include "lib/tap.h"

static struct authority_pair pair, other;
static struct error err;
static struct ca ca;

static int verify(X509 *leaf, X509 *by)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int result;

	X509_STORE_add_cert(store, by);
	X509_STORE_CTX_init(ctx, store, leaf, NULL);
	X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_SERVER);
	X509_STORE_CTX_set_flags(ctx, X509_V_FLAG_X509_STRICT);
	result = X509_verify_cert(ctx) == 1 ? X509_V_OK
					    : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return result;
}

static void a_certificate_is_for_one_name(void)
{
	SSL *ssl = ca_connection(&ca, "api.good.example");
	X509 *leaf;

	REQUIRE(ssl);
	leaf = SSL_get_certificate(ssl);
	CHECK(verify(leaf, ca.certificate) == X509_V_OK);
	CHECK(X509_check_host(leaf, "api.good.example", 0, 0, NULL) == 1);
	CHECK(X509_check_host(leaf, "good.example", 0, 0, NULL) == 0);
	CHECK(X509_check_host(leaf, "x.api.good.example", 0, 0, NULL) == 0);
	CHECK(X509_check_ca(leaf) == 0);
	CHECK(X509_get_extended_key_usage(leaf) == XKU_SSL_SERVER);
	CHECK(SSL_check_private_key(ssl) == 1);
	SSL_free(ssl);
}

static void a_long_name_has_no_subject(void)
{
	static const char name[] =
		"abcdefghijklmnopqrstuvwxyz-abcdefghijklmnop."
		"abcdefghijklmnopqrstuvwxyz.good.example";
	SSL *ssl = ca_connection(&ca, name);

	REQUIRE(ssl);
	CHECK(verify(SSL_get_certificate(ssl), ca.certificate) == X509_V_OK);
	CHECK(X509_check_host(SSL_get_certificate(ssl), name, 0, 0, NULL) == 1);
	SSL_free(ssl);
}

static X509 *leaf_of(const char *name)
{
	SSL *ssl = ca_connection(&ca, name);
	X509 *leaf = ssl ? SSL_get_certificate(ssl) : NULL;

	/* The list has it, too. */
	SSL_free(ssl);
	return leaf;
}

static void what_was_used_last_is_kept(void)
{
	X509 *first = leaf_of("first.example");
	X509 *second = leaf_of("second.example");
	char name[32];

	CHECK(first && second && first != second);
	CHECK(leaf_of("first.example") == first);
	X509_up_ref(second);
	for (int i = 0; i < CA_CACHE_MAX - 1; i++) {
		text_format(name, sizeof(name), "n%d.example", i);
		CHECK(leaf_of(name) != NULL);
		CHECK(leaf_of("first.example") == first);
	}
	CHECK(ca.count == CA_CACHE_MAX);
	CHECK(leaf_of("second.example") != second);
	CHECK(ca.count == CA_CACHE_MAX);
	X509_free(second);
}

static void two_sandboxes_do_not_trust_each_other(void)
{
	struct ca stranger;
	SSL *ssl = ca_connection(&ca, "good.example");

	REQUIRE(ca_open(&stranger, other.certificate, other.key, &err) == 0);
	REQUIRE(ssl);
	CHECK(verify(SSL_get_certificate(ssl), stranger.certificate) !=
	      X509_V_OK);
	SSL_free(ssl);
	ca_release(&stranger);
}

static void what_is_malformed_is_refused(void)
{
	struct ca bad;

	CHECK(ca_open(&bad, "", "", &err) < 0);
	CHECK(ca_open(&bad, pair.certificate, other.key, &err) < 0);
	CHECK(ca_open(&bad, pair.key, pair.certificate, &err) < 0);
	CHECK(bad.certificate == NULL && !ca_connection(&bad, "a.example"));
}

static void without_an_authority_there_is_no_certificate(void)
{
	struct ca none;

	CHECK(ca_open(&none, NULL, NULL, &err) == 0);
	CHECK(!ca_connection(&none, "good.example"));
	ca_release(&none);
}

int main(void)
{
	ca_lock_memory();
	if (authority_make("box", &pair, &err) < 0 ||
	    authority_make("other", &other, &err) < 0 ||
	    ca_open(&ca, pair.certificate, pair.key, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	RUN(a_certificate_is_for_one_name);
	RUN(a_long_name_has_no_subject);
	RUN(what_was_used_last_is_kept);
	RUN(two_sandboxes_do_not_trust_each_other);
	RUN(what_is_malformed_is_refused);
	RUN(without_an_authority_there_is_no_certificate);
	ca_release(&ca);
	return DONE();
}
