/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - whom the host trusts, and TLS as a client by that
 */
#include "net/trust.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "net/staple.h"

#define FILE_BYTES_MAX (16u * 1024 * 1024)

/* Debian; Fedora; SUSE; Alpine and others. */
static const char *const files[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

AUTO_DEFINE(bio, BIO *, BIO_free)
AUTO_DEFINE(context, SSL_CTX *, SSL_CTX_free)

int trust_open(struct trust *trust, struct error *err)
{
	uint8_t byte;

	*trust = (struct trust){ .fd = -1 };
	tls_sessions_init(&trust->sessions);
	if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) ||
	    RAND_bytes(&byte, 1) != 1)
		return error_set(err, 0, "OpenSSL does not start");
	for (size_t i = 0; i < ARRAY_SIZE(files) && trust->fd < 0; i++)
		trust->fd = open(files[i], O_RDONLY | O_CLOEXEC);
	return 0;
}

void trust_release(struct trust *trust)
{
	tls_sessions_clear(&trust->sessions);
	SSL_CTX_free(trust->context);
	if (trust->fd >= 0)
		close(trust->fd);
	*trust = (struct trust){ .fd = -1 };
}

static int add_all(X509_STORE *store, const struct buffer *text)
{
	AUTO(bio) BIO *bio = BIO_new_mem_buf(text->data, (int)text->len);
	int count = 0;
	X509 *found;

	while (bio && (found = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(store, found);
		X509_free(found);
	}
	/* The end of the file is an error to it. */
	ERR_clear_error();
	return count;
}

static SSL_CTX *make(struct trust *trust)
{
	AUTO(context) SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_BYTES_MAX);

	if (!context || trust->fd < 0 || lseek(trust->fd, 0, SEEK_SET) < 0 ||
	    fileio_read_fd(trust->fd, &text, NULL) < 0 || !text.len ||
	    add_all(SSL_CTX_get_cert_store(context), &text) == 0 ||
	    staple_use(context) < 0)
		return NULL;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
					  SSL_MODE_ENABLE_PARTIAL_WRITE);
	/* Ours are in tls_sessions.h: OpenSSL knows no name there. */
	SSL_CTX_set_session_cache_mode(
		context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	return TAKE_PTR(context);
}

SSL_CTX *trust_context(struct trust *trust)
{
	if (!trust->context)
		trust->context = make(trust);
	return trust->context;
}
