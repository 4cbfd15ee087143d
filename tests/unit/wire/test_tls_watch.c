/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tls_watch.c - second hellos, of OpenSSL and made by hand
 */
#include "wire/tls_watch.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "wire/client_hello.h"
#include "lib/tap.h"

#define BYTES_MAX 65536

/* A client and a server in this process; we are the wire between them. */
static struct {
	SSL_CTX *client_context, *server_context;
	SSL *client, *server;
	BIO *from_client, *to_client, *from_server, *to_server;
} peers;

static void use_certificate(SSL_CTX *context)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	X509 *cert = X509_new();

	CHECK(X509_set_version(cert, 2) == 1);
	CHECK(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) == 1);
	CHECK(X509_gmtime_adj(X509_getm_notBefore(cert), 0) != NULL);
	CHECK(X509_gmtime_adj(X509_getm_notAfter(cert), 3600) != NULL);
	CHECK(X509_set_pubkey(cert, key) == 1);
	CHECK(X509_sign(cert, key, EVP_sha256()) > 0);
	CHECK(SSL_CTX_use_certificate(context, cert) == 1);
	CHECK(SSL_CTX_use_PrivateKey(context, key) == 1);
	X509_free(cert);
	EVP_PKEY_free(key);
}

/* The server takes no group of the client's first guess: a retry is needed. */
static void start_peers(int max_version, const char *server_groups)
{
	peers.client_context = SSL_CTX_new(TLS_client_method());
	peers.server_context = SSL_CTX_new(TLS_server_method());
	use_certificate(peers.server_context);
	CHECK(SSL_CTX_set1_groups_list(peers.client_context, "X25519:P-384") ==
	      1);
	CHECK(SSL_CTX_set1_groups_list(peers.server_context, server_groups) ==
	      1);
	SSL_CTX_set_max_proto_version(peers.client_context, max_version);
	peers.client = SSL_new(peers.client_context);
	peers.server = SSL_new(peers.server_context);
	peers.from_client = BIO_new(BIO_s_mem());
	peers.to_client = BIO_new(BIO_s_mem());
	peers.from_server = BIO_new(BIO_s_mem());
	peers.to_server = BIO_new(BIO_s_mem());
	SSL_set_bio(peers.client, peers.to_client, peers.from_client);
	SSL_set_bio(peers.server, peers.to_server, peers.from_server);
	SSL_set_connect_state(peers.client);
	SSL_set_accept_state(peers.server);
	CHECK(SSL_set_tlsext_host_name(peers.client, "allowed.com") == 1);
}

static void stop_peers(void)
{
	SSL_free(peers.client);
	SSL_free(peers.server);
	SSL_CTX_free(peers.client_context);
	SSL_CTX_free(peers.server_context);
}

static size_t take(BIO *bio, uint8_t *bytes)
{
	int len = BIO_read(bio, bytes, BYTES_MAX);

	return len > 0 ? (size_t)len : 0;
}

static void serve(const uint8_t *bytes, size_t len)
{
	static uint8_t answer[BYTES_MAX];

	CHECK(BIO_write(peers.to_server, bytes, (int)len) == (int)len);
	(void)SSL_do_handshake(peers.server);
	len = take(peers.from_server, answer);
	if (len)
		CHECK(BIO_write(peers.to_client, answer, (int)len) == (int)len);
}

/* The client's first hello goes through; the watch begins behind it. */
static void begin(struct tls_watch *watch)
{
	static uint8_t bytes[BYTES_MAX];
	struct client_hello hello;
	size_t len;

	(void)SSL_do_handshake(peers.client);
	len = take(peers.from_client, bytes);
	CHECK(client_hello_parse(bytes, len, &hello) == CLIENT_HELLO_DONE);
	CHECK(hello.len == len && !strcmp(hello.name, "allowed.com"));
	serve(bytes, len);
	tls_watch_init(watch);
}

static void a_second_hello_is_seen(void)
{
	static uint8_t bytes[BYTES_MAX];
	struct client_hello hello;
	struct tls_watch watch;
	size_t len, pass;

	start_peers(TLS1_3_VERSION, "P-384");
	begin(&watch);
	/* What an attacker does: another name in the second hello. */
	CHECK(SSL_set_tlsext_host_name(peers.client, "evil.com") == 1);
	(void)SSL_do_handshake(peers.client);
	len = take(peers.from_client, bytes);
	CHECK(tls_watch_read(&watch, bytes, len, &pass) == TLS_WATCH_HELLO);
	CHECK(pass == 6); /* change cipher spec, for old middle boxes */
	CHECK(client_hello_parse(bytes + pass, len - pass, &hello) ==
	      CLIENT_HELLO_DONE);
	CHECK(!strcmp(hello.name, "evil.com"));
	/* The reason for all this: the server believes it. */
	serve(bytes, len);
	CHECK(!strcmp(
		SSL_get_servername(peers.server, TLSEXT_NAMETYPE_host_name),
		"evil.com"));
	stop_peers();
}

/* Runs a handshake and some data to its end through the watch. */
static int count_hellos(struct tls_watch *watch)
{
	static uint8_t bytes[BYTES_MAX];
	int hellos = 0;

	for (int round = 0; round < 8; round++) {
		size_t len, pass, at = 0;

		(void)SSL_do_handshake(peers.client);
		if (SSL_is_init_finished(peers.client))
			CHECK(SSL_write(peers.client, "hello", 5) == 5);
		len = take(peers.from_client, bytes);
		while (at < len) {
			struct client_hello hello;
			enum tls_watch_result result = tls_watch_read(
				watch, bytes + at, len - at, &pass);

			at += pass;
			if (result != TLS_WATCH_HELLO)
				break;
			hellos++;
			CHECK(client_hello_parse(bytes + at, len - at,
						 &hello) == CLIENT_HELLO_DONE);
			CHECK(!strcmp(hello.name, "allowed.com"));
			tls_watch_allow(watch, hello.len);
		}
		CHECK(at == len);
		serve(bytes, len);
	}
	CHECK(SSL_is_init_finished(peers.server));
	return hellos;
}

static void honest_clients_pass(void)
{
	struct tls_watch watch;

	start_peers(TLS1_3_VERSION, "P-384");
	begin(&watch);
	CHECK(count_hellos(&watch) == 1 && !watch.over);
	stop_peers();
	start_peers(TLS1_3_VERSION, "X25519");
	begin(&watch);
	CHECK(count_hellos(&watch) == 0 && !watch.over);
	stop_peers();
	start_peers(TLS1_2_VERSION, "P-384");
	begin(&watch);
	CHECK(count_hellos(&watch) == 0 && watch.over);
	stop_peers();
}

static const char early[] = "\x14\3\3\0\1\1"    /* change cipher spec */
			    "\x17\3\3\0\4data"  /* early data */
			    "\x15\3\3\0\2\1\0"; /* a warning */
#define EARLY_LEN (sizeof(early) - 1)

static enum tls_watch_result watch_behind_early(const char *bytes, size_t len,
						size_t *pass, bool *over)
{
	char text[256];
	struct tls_watch watch;
	enum tls_watch_result result;

	memcpy(text, early, EARLY_LEN);
	memcpy(text + EARLY_LEN, bytes, len);
	tls_watch_init(&watch);
	result = tls_watch_read(&watch, text, EARLY_LEN + len, pass);
	*over = watch.over;
	return result;
}

static void records_are_told_apart(void)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		enum tls_watch_result want;
		bool over;
		size_t pass; /* of these bytes */
	} cases[] = {
#define ROW(what, bytes, want, over, pass) \
	{ what, bytes, sizeof(bytes) - 1, want, over, pass }
		ROW("a hello", "\x16\3\3\1\0\1\0\0\xfc\3\3", TLS_WATCH_HELLO, 0,
		    0),
		ROW("a hello of one byte", "\x16\3\3\0\1\1", TLS_WATCH_HELLO, 0,
		    0),
		ROW("a hello of five bytes", "\x16\3\3\0\5\1\0\0\0\3",
		    TLS_WATCH_HELLO, 0, 0),
		ROW("half a header", "\x16\3\3\0", TLS_WATCH_PASS, 0, 0),
		ROW("a header", "\x16\3\3\1\0", TLS_WATCH_PASS, 0, 0),
		ROW("half a begin", "\x16\3\3\1\0\1\0\0\xfc\3", TLS_WATCH_PASS,
		    0, 0),
		ROW("a key exchange", "\x16\3\3\0\7\x10\0\0\3abc",
		    TLS_WATCH_PASS, true, 12),
		ROW("random bytes", "\x16\3\3\0\7\1\x99\0\3abc", TLS_WATCH_PASS,
		    true, 12),
		ROW("more of them", "\x16\3\3\0\7\1\0\0\3\7bc", TLS_WATCH_PASS,
		    true, 12),
		ROW("an empty record", "\x16\3\3\0\0", TLS_WATCH_BAD, 0, 0),
		ROW("no record", "GET /", TLS_WATCH_BAD, 0, 0),
		ROW("data", "\x17\3\3\0\3abc\x17", TLS_WATCH_PASS, 0, 8),
		ROW("half of data", "\x17\3\3\1\0abc", TLS_WATCH_PASS, 0, 8),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum tls_watch_result result;
		size_t pass;
		bool over;

		result = watch_behind_early(cases[i].bytes, cases[i].len, &pass,
					    &over);
		if (result != cases[i].want)
			printf("# %s\n", cases[i].what);
		CHECK(result == cases[i].want && over == cases[i].over);
		CHECK(pass == EARLY_LEN + cases[i].pass);
	}
}

static void pieces_are_followed(void)
{
	static const char hello[] = "\x16\3\3\1\0\1\0\0\xfc\3\3";
	char text[64];
	const size_t len = EARLY_LEN + sizeof(hello) - 1;

	memcpy(text, early, EARLY_LEN);
	memcpy(text + EARLY_LEN, hello, sizeof(hello) - 1);
	for (size_t step = 1; step <= len; step++) {
		enum tls_watch_result result = TLS_WATCH_PASS;
		struct tls_watch watch;
		size_t done = 0, given = 0, pass;

		tls_watch_init(&watch);
		while (result == TLS_WATCH_PASS && given < len) {
			char *copy;

			given = given + step < len ? given + step : len;
			copy = malloc(given - done ? given - done : 1);
			memcpy(copy, text + done, given - done);
			result = tls_watch_read(&watch, copy, given - done,
						&pass);
			done += pass;
			free(copy);
		}
		CHECK(result == TLS_WATCH_HELLO && done == EARLY_LEN);
	}
}

int main(void)
{
	RUN(a_second_hello_is_seen);
	RUN(honest_clients_pass);
	RUN(records_are_told_apart);
	RUN(pieces_are_followed);
	return DONE();
}
