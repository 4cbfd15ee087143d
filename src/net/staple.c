/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staple.c - what an authority says about a server's certificate (OCSP)
 */
#include "net/staple.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/ssl.h>
#include <openssl/tls1.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "base/own.h"

#define SKEW_SECONDS 300

AUTO_DEFINE(response, OCSP_RESPONSE *, OCSP_RESPONSE_free)
AUTO_DEFINE(basic, OCSP_BASICRESP *, OCSP_BASICRESP_free)
AUTO_DEFINE(certid, OCSP_CERTID *, OCSP_CERTID_free)

enum statement {
	STATEMENT_NONE, /* or one that proves nothing */
	STATEMENT_GOOD,
	STATEMENT_REVOKED,
};

static OCSP_BASICRESP *read_response(SSL *ssl)
{
	const unsigned char *bytes = NULL;
	long len = SSL_get_tlsext_status_ocsp_resp(ssl, &bytes);
	AUTO(response) OCSP_RESPONSE *response = NULL;

	if (len <= 0 || !bytes)
		return NULL;
	response = d2i_OCSP_RESPONSE(NULL, &bytes, len);
	if (!response ||
	    OCSP_response_status(response) != OCSP_RESPONSE_STATUS_SUCCESSFUL)
		return NULL;
	return OCSP_response_get1_basic(response);
}

/* About this very certificate, and not too old. */
static enum statement find_status(OCSP_BASICRESP *basic, X509 *leaf,
				  X509 *issuer)
{
	AUTO(certid) OCSP_CERTID *id = OCSP_cert_to_id(NULL, leaf, issuer);
	ASN1_GENERALIZEDTIME *revoked, *from, *until;
	int status = V_OCSP_CERTSTATUS_UNKNOWN, reason;

	if (!id ||
	    OCSP_resp_find_status(basic, id, &status, &reason, &revoked, &from,
				  &until) != 1 ||
	    OCSP_check_validity(from, until, SKEW_SECONDS, -1) != 1)
		return STATEMENT_NONE;
	if (status == V_OCSP_CERTSTATUS_REVOKED)
		return STATEMENT_REVOKED;
	return status == V_OCSP_CERTSTATUS_GOOD ? STATEMENT_GOOD
						: STATEMENT_NONE;
}

static enum statement judge(SSL *ssl, X509 *leaf)
{
	STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
	X509_STORE *store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
	AUTO(basic) OCSP_BASICRESP *basic = read_response(ssl);

	if (!basic || sk_X509_num(chain) < 1 ||
	    OCSP_basic_verify(basic, chain, store, 0) != 1)
		return STATEMENT_NONE;
	return find_status(
		basic, leaf,
		sk_X509_value(chain, sk_X509_num(chain) > 1 ? 1 : 0));
}

/* The certificate says that its server always brings a statement. */
static bool is_promised(X509 *leaf)
{
	TLS_FEATURE *features =
		X509_get_ext_d2i(leaf, NID_tlsfeature, NULL, NULL);
	bool found = false;

	for (int i = 0; i < sk_ASN1_INTEGER_num(features); i++)
		found |= ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, i)) ==
			 TLSEXT_TYPE_status_request;
	sk_ASN1_INTEGER_pop_free(features, ASN1_INTEGER_free);
	return found;
}

/* As OpenSSL wants it: 1 goes on, 0 ends the handshake. */
static int on_status(SSL *ssl, void *ctx)
{
	X509 *leaf = SSL_get0_peer_certificate(ssl);
	enum statement statement;
	bool good;

	/* With a session that is used again neither comes anew. */
	if (SSL_session_reused(ssl))
		return 1;
	statement = leaf ? judge(ssl, leaf) : STATEMENT_NONE;
	good = statement == STATEMENT_GOOD ||
	       (statement == STATEMENT_NONE && leaf && !is_promised(leaf));

	/* What did not verify is no error of the connection. */
	ERR_clear_error();
	if (good)
		return 1;
	SSL_set_verify_result(ssl, statement == STATEMENT_REVOKED
					   ? X509_V_ERR_CERT_REVOKED
					   : X509_V_ERR_OCSP_VERIFY_NEEDED);
	return 0;
}

int staple_use(SSL_CTX *context)
{
	return SSL_CTX_set_tlsext_status_type(context,
					      TLSEXT_STATUSTYPE_ocsp) == 1 &&
			       SSL_CTX_set_tlsext_status_cb(context,
							    on_status) == 1
		       ? 0
		       : -1;
}
