/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tls_sessions.c - sessions with servers, and what is asked of them
 *
 * Two ends shake hands in memory: a server of ours and a client that trusts it.
 */
#include "net/tls_sessions.h"

#include <openssl/ssl.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "ca/authority.h"
#include "lib/tap.h"
#include "net/ca.h"
#include "net/tls_peer.h"

static struct ca ca;
static struct error err;
static struct authority_pair pair;
static struct tls_sessions sessions;
static SSL_CTX *context;
static SSL_SESSION *newest; /* owned */
static const struct authority good = { .host = "good.example", .port = 443 };
static const struct authority other = { .host = "other.example", .port = 443 };
static const struct authority port = { .host = "good.example", .port = 444 };

static int on_new(SSL *ssl, SSL_SESSION *session)
{
	SSL_SESSION_free(newest);
	newest = session;
	return 1;
}

static void carry(SSL *from, SSL *to)
{
	char bytes[16384];
	int len = BIO_read(SSL_get_wbio(from), bytes, sizeof(bytes));

	if (len > 0)
		BIO_write(SSL_get_rbio(to), bytes, len);
}

/* The client's side, connected; the caller frees it. */
static SSL *connect_to(const char *name, const struct authority *peer,
		       SSL_SESSION *session, int version)
{
	SSL *server = ca_connection(&ca, name), *client = SSL_new(context);
	char bytes[64];

	SSL_set_max_proto_version(client, version);
	SSL_set_bio(server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
	SSL_set_accept_state(server);
	SSL_set_connect_state(client);
	CHECK(tls_peer_expect(client, peer) == 0);
	if (session)
		CHECK(SSL_set_session(client, session) == 1);
	for (int i = 0; i < 6; i++) {
		SSL_do_handshake(client);
		carry(client, server);
		SSL_do_handshake(server);
		carry(server, client);
	}
	/* A ticket of TLS 1.3 comes after it. */
	SSL_read(client, bytes, sizeof(bytes));
	SSL_shutdown(client);
	SSL_free(server);
	return client;
}

static void a_server_that_proved_its_name_is_known_again(void)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		SSL *client =
			connect_to("good.example", &good, NULL, versions[i]);
		SSL_SESSION *session = TAKE_PTR(newest);

		CHECK(tls_peer_is_verified(client));
		CHECK(!SSL_session_reused(client));
		SSL_free(client);
		REQUIRE(session);
		CHECK(tls_peer_fits(session, &good));
		CHECK(!tls_peer_fits(session, &other));
		client =
			connect_to("good.example", &good, session, versions[i]);
		CHECK(SSL_session_reused(client));
		CHECK(tls_peer_is_verified(client));
		SSL_free(client);
		SSL_SESSION_free(session);
	}
}

/* OpenSSL looks at no name when a session is used again. */
static void a_session_proves_no_other_name(void)
{
	SSL *client = connect_to("good.example", &good, NULL, TLS1_2_VERSION);
	SSL_SESSION *session = TAKE_PTR(newest);

	SSL_free(client);
	REQUIRE(session);
	client = connect_to("good.example", &other, session, TLS1_2_VERSION);
	if (SSL_session_reused(client))
		CHECK(SSL_get_verify_result(client) == X509_V_OK);
	CHECK(!tls_peer_is_verified(client));
	SSL_free(client);
	SSL_SESSION_free(session);
}

static void what_did_not_verify_stays_so(void)
{
	SSL *client = connect_to("good.example", &other, NULL, TLS1_3_VERSION);

	CHECK(SSL_get_verify_result(client) == X509_V_ERR_HOSTNAME_MISMATCH);
	CHECK(!tls_peer_is_verified(client));
	SSL_free(client);
}

static void keep(const struct authority *peer, int version, uint64_t proved)
{
	SSL *client = connect_to("good.example", &good, NULL, version);

	SSL_free(client);
	REQUIRE(newest);
	tls_sessions_keep(&sessions, peer, TAKE_PTR(newest), proved);
}

static bool take(const struct authority *peer, uint64_t now)
{
	uint64_t proved = 0;
	SSL_SESSION *session = tls_sessions_take(&sessions, peer, now, &proved);

	SSL_SESSION_free(session);
	return session && proved;
}

static void a_session_is_for_one_host_and_port(void)
{
	keep(&good, TLS1_3_VERSION, 100);
	CHECK(!take(&other, 100) && !take(&port, 100));
	CHECK(take(&good, 100));
	CHECK(!take(&good, 100) && sessions.count == 0);
}

static void one_of_the_older_protocol_is_used_often(void)
{
	keep(&good, TLS1_2_VERSION, 100);
	CHECK(take(&good, 100) && take(&good, 100) && sessions.count == 1);
	tls_sessions_clear(&sessions);
	CHECK(!take(&good, 100) && sessions.count == 0);
}

static void a_proof_does_not_last(void)
{
	keep(&good, TLS1_3_VERSION, 100);
	keep(&port, TLS1_3_VERSION, 200);
	CHECK(!take(&good, 100 + TLS_SESSIONS_MS) && sessions.count == 1);
	CHECK(take(&port, 199 + TLS_SESSIONS_MS));
}

static void there_are_never_many(void)
{
	SSL *client = connect_to("good.example", &good, NULL, TLS1_3_VERSION);
	struct authority peer = good;

	SSL_free(client);
	REQUIRE(newest);
	for (int i = 0; i < 2 * TLS_SESSIONS_EACH; i++) {
		SSL_SESSION_up_ref(newest);
		tls_sessions_keep(&sessions, &good, newest, 1);
	}
	CHECK(sessions.count == TLS_SESSIONS_EACH);
	for (int i = 0; i < 2 * TLS_SESSIONS_MAX; i++) {
		peer.port = (uint16_t)(1000 + i);
		SSL_SESSION_up_ref(newest);
		tls_sessions_keep(&sessions, &peer, newest, 1);
	}
	CHECK(sessions.count == TLS_SESSIONS_MAX);
	CHECK(!take(&good, 1) && take(&peer, 1));
	tls_sessions_clear(&sessions);
	CHECK(sessions.count == 0 && list_empty(&sessions.all));
}

int main(void)
{
	authority_make("test", &pair, &err);
	if (ca_open(&ca, pair.certificate, pair.key, &err) < 0)
		return 1;
	tls_sessions_init(&sessions);
	context = SSL_CTX_new(TLS_client_method());
	X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.certificate);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(
		context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_new);
	RUN(a_server_that_proved_its_name_is_known_again);
	RUN(a_session_proves_no_other_name);
	RUN(what_did_not_verify_stays_so);
	RUN(a_session_is_for_one_host_and_port);
	RUN(one_of_the_older_protocol_is_used_often);
	RUN(a_proof_does_not_last);
	RUN(there_are_never_many);
	SSL_SESSION_free(newest);
	SSL_CTX_free(context);
	ca_release(&ca);
	return DONE();
}
