/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_tls.c - an end that is TLS over another end
 *
 * OpenSSL talks to two pieces of memory; what lies in them is carried to and
 * from the end beneath, as far as that has room. Plain bytes wait in a ring.
 */
#include "net/end_tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/ring.h"
#include "net/end.h"
#include "net/limit.h"
#include "wire/authority.h"

#define RECORD_BYTES 16384u
#define OVERHEAD_BYTES 512u /* of a record, and what a handshake adds */

struct end_tls {
	struct end end;
	struct ends *ends;
	struct end *lower; /* owned */
	SSL *ssl;          /* owned, with both pieces of memory */
	BIO *from_peer, *to_peer;
	struct ring in;
	size_t memory;
};

static struct end_tls *tls_of(const struct end *end)
{
	return CONTAINER_OF(end, struct end_tls, end);
}

static void count_memory(struct end_tls *self)
{
	self->ends->buffered += self->in.size;
	self->ends->buffered -= self->memory;
	self->memory = self->in.size;
}

static void flush(struct end_tls *self)
{
	char *bytes;
	long len = BIO_get_mem_data(self->to_peer, &bytes);
	size_t sent = len > 0 ? end_write(self->lower, bytes, (size_t)len) : 0;

	/* Reading is how bytes leave such a piece of memory. */
	while (sent > 0) {
		char sink[4096];
		int part = sent < sizeof(sink) ? (int)sent : (int)sizeof(sink);

		part = BIO_read(self->to_peer, sink, part);
		if (part <= 0)
			break;
		sent -= (size_t)part;
	}
	if (self->end.finished && BIO_pending(self->to_peer) == 0)
		end_finish(self->lower);
}

/* A record's worth, as long as there is room for what it holds. */
static bool feed(struct end_tls *self)
{
	struct iovec iov[2];
	size_t len;

	if (BIO_pending(self->from_peer) > (long)RECORD_BYTES)
		return false;
	end_fill(self->lower);
	if (!end_peek(self->lower, iov))
		return false;
	len = iov[0].iov_len < RECORD_BYTES ? iov[0].iov_len : RECORD_BYTES;
	if (BIO_write(self->from_peer, iov[0].iov_base, (int)len) != (int)len)
		return false;
	end_take(self->lower, len);
	return true;
}

static void fail(struct end_tls *self)
{
	ERR_clear_error();
	if (!self->end.error)
		self->end.error = EPROTO;
}

static void shake_hands(struct end_tls *self)
{
	int result = SSL_do_handshake(self->ssl);

	if (result == 1)
		self->end.connected = true;
	else if (SSL_get_error(self->ssl, result) != SSL_ERROR_WANT_READ)
		fail(self);
}

/* False: nothing more to decrypt now. */
static bool decrypt(struct end_tls *self)
{
	struct iovec iov[2];
	int result;

	if (ring_space(&self->in) < RECORD_BYTES ||
	    !ring_room(&self->in, RECORD_BYTES, iov))
		return false;
	result = SSL_read(self->ssl, iov[0].iov_base, (int)iov[0].iov_len);
	if (result > 0) {
		ring_produced(&self->in, (size_t)result);
		return true;
	}
	switch (SSL_get_error(self->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		break;
	case SSL_ERROR_ZERO_RETURN:
		self->end.eof = true;
		break;
	default:
		fail(self);
	}
	return false;
}

static void run(struct end_tls *self)
{
	bool more = true;

	while (more && !self->end.error && !self->end.eof) {
		more = feed(self);
		if (!self->end.connected)
			shake_hands(self);
		while (self->end.connected && decrypt(self))
			;
		if (ring_space(&self->in) < RECORD_BYTES)
			break;
	}
	ring_trim(&self->in);
	count_memory(self);
	flush(self);
	if (self->lower->error && !self->end.error)
		self->end.error = self->lower->error;
	/* Cut without the alert that ends TLS: somebody may have cut it. */
	if (self->lower->eof && !self->end.eof && !end_available(self->lower) &&
	    BIO_pending(self->from_peer) == 0 && !self->end.error)
		self->end.error = ECONNRESET;
}

static void on_lower(struct end *lower)
{
	struct end_tls *self = lower->owner;

	run(self);
	if (self->end.on_event)
		self->end.on_event(&self->end);
}

static int tls_peek(const struct end *end, struct iovec iov[2])
{
	return ring_readable(&tls_of(end)->in, iov);
}

static void tls_take(struct end *end, size_t len)
{
	struct end_tls *self = tls_of(end);

	ring_consume(&self->in, len);
	ring_trim(&self->in);
	count_memory(self);
}

static void tls_fill(struct end *end)
{
	run(tls_of(end));
}

/* As much as surely leaves for the end beneath, once encrypted. */
static size_t tls_space(const struct end *end)
{
	struct end_tls *self = tls_of(end);
	size_t lower = end_space(self->lower);
	size_t waiting = (size_t)BIO_pending(self->to_peer);

	if (!end->connected || lower < waiting + OVERHEAD_BYTES)
		return 0;
	lower -= waiting + OVERHEAD_BYTES;
	return lower - lower / 16;
}

static size_t tls_write(struct end *end, const void *bytes, size_t len)
{
	struct end_tls *self = tls_of(end);
	size_t space = tls_space(end), done = 0;

	if (len > space)
		len = space;
	while (done < len) {
		int n = SSL_write(self->ssl, (const uint8_t *)bytes + done,
				  (int)(len - done));

		if (n <= 0) {
			fail(self);
			break;
		}
		done += (size_t)n;
	}
	flush(self);
	return done;
}

static bool tls_drained(const struct end *end)
{
	struct end_tls *self = tls_of(end);

	return BIO_pending(self->to_peer) == 0 && end_drained(self->lower);
}

static void tls_finish(struct end *end)
{
	struct end_tls *self = tls_of(end);

	if (end->connected)
		SSL_shutdown(self->ssl);
	ERR_clear_error();
	flush(self);
}

static void tls_close(struct end *end, int code)
{
	struct end_tls *self = tls_of(end);

	end_close(self->lower, code);
	SSL_free(self->ssl);
	ring_release(&self->in);
	count_memory(self);
	end->on_event = NULL;
	loop_defer_free(self->ends->loop, self);
}

static const struct end_ops tls_ops = {
	.fill = tls_fill,
	.peek = tls_peek,
	.take = tls_take,
	.space = tls_space,
	.write = tls_write,
	.drained = tls_drained,
	.finish = tls_finish,
	.close = tls_close,
};

static int expect_peer(SSL *ssl, const struct authority *peer)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (peer->address.family)
		return X509_VERIFY_PARAM_set1_ip_asc(param, peer->host) == 1
			       ? 0
			       : -1;
	X509_VERIFY_PARAM_set_hostflags(param,
					X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set_tlsext_host_name(ssl, peer->host) == 1 &&
			       SSL_set1_host(ssl, peer->host) == 1
		       ? 0
		       : -1;
}

struct end *end_tls_client(struct ends *ends, struct end *lower,
			   SSL_CTX *context, const struct authority *peer)
{
	SSL *ssl = context ? SSL_new(context) : NULL;
	struct end_tls *self;

	if (!ssl || expect_peer(ssl, peer) < 0) {
		SSL_free(ssl);
		end_close(lower, ECONNRESET);
		return NULL;
	}
	self = xcalloc(1, sizeof(*self));
	*self = (struct end_tls){ .end = { .ops = &tls_ops },
				  .ends = ends,
				  .lower = lower,
				  .ssl = ssl,
				  .from_peer = BIO_new(BIO_s_mem()),
				  .to_peer = BIO_new(BIO_s_mem()) };
	SSL_set_bio(ssl, self->from_peer, self->to_peer);
	SSL_set_connect_state(ssl);
	ring_init(&self->in, LIMIT_SOCKET_BUFFER);
	lower->owner = self;
	lower->on_event = on_lower;
	shake_hands(self);
	flush(self);
	return &self->end;
}
