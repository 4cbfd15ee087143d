/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_peer.c - who the server of a TLS connection has proved to be
 */
#include "net/tls_peer.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "wire/authority.h"

#define NAME_FLAGS X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS

int tls_peer_expect(SSL *ssl, const struct authority *peer)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (peer->address.family)
		return X509_VERIFY_PARAM_set1_ip_asc(param, peer->host) == 1
			       ? 0
			       : -1;
	X509_VERIFY_PARAM_set_hostflags(param, NAME_FLAGS);
	return SSL_set_tlsext_host_name(ssl, peer->host) == 1 &&
			       SSL_set1_host(ssl, peer->host) == 1
		       ? 0
		       : -1;
}

static bool names(X509 *certificate, const char *host)
{
	return certificate && host &&
	       X509_check_host(certificate, host, 0, NAME_FLAGS, NULL) == 1;
}

static bool is_current(const X509 *certificate)
{
	return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
	       X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

bool tls_peer_is_verified(SSL *ssl)
{
	if (SSL_is_server(ssl) ||
	    !(SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) ||
	    SSL_get_verify_result(ssl) != X509_V_OK)
		return false;
	if (!SSL_session_reused(ssl))
		return SSL_get0_peername(ssl) != NULL;
	return names(SSL_get0_peer_certificate(ssl),
		     X509_VERIFY_PARAM_get0_host(SSL_get0_param(ssl), 0));
}

bool tls_peer_fits(SSL_SESSION *session, const struct authority *peer)
{
	X509 *certificate = SSL_SESSION_get0_peer(session);

	return SSL_SESSION_is_resumable(session) && !peer->address.family &&
	       names(certificate, peer->host) && is_current(certificate);
}

const char *tls_peer_problem(long result)
{
	switch (result) {
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "its certificate is for another name";
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "its certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "its certificate is not valid yet";
	case X509_V_ERR_CERT_REVOKED:
		return "its certificate was revoked";
	case X509_V_ERR_OCSP_VERIFY_NEEDED:
		return "its certificate promises a statement of its authority "
		       "(OCSP) that did not come";
	default:
		return "its certificate is not trusted by the host";
	}
}
