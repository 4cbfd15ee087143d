/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_tls.c - an end that is TLS over another end
 *
 * OpenSSL talks to two pieces of memory; what lies in them is carried to and
 * from the end beneath, as far as that has room. Plain bytes wait in a ring.
 */
#include "net/end_tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/ring.h"
#include "net/end.h"
#include "net/limit.h"
#include "net/tls_peer.h"
#include "net/tls_sessions.h"

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
	bool wants_certificate; /* the server asked us who we are */

	struct tls_sessions *sessions; /* NULL: none are kept */
	struct authority peer;         /* whose they are */
	uint64_t begun_ms;
	uint64_t proved_ms; /* of the session that was offered */
};

/* In the order of our wishes. */
static const char *const protocols[] = {
	[END_TLS_HTTP2] = "h2",
	[END_TLS_HTTP1] = "http/1.1",
};
static_assert(ARRAY_SIZE(protocols) == END_TLS_PROTOCOLS, "a name for each");

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

static const char too_old[] = "TLS 1.2 or later is needed";
static const char no_protocol[] = "no protocol (ALPN) that we know";
static const char distrusted[] =
	"the other side does not trust our certificate";
static const char no_certificate[] =
	"it wants a client certificate, which cannot pass";

static const struct {
	int reason; /* of OpenSSL */
	const char *text;
} problems[] = {
	{ SSL_R_UNSUPPORTED_PROTOCOL, too_old },
	{ SSL_R_VERSION_TOO_LOW, too_old },
	{ SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, too_old },
	{ SSL_R_NO_SHARED_CIPHER, "no cipher is known to both" },
	{ SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
	  "the other side wants TLS of another kind" },
	{ SSL_R_NO_APPLICATION_PROTOCOL, no_protocol },
	{ SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, no_protocol },
	{ SSL_R_TLSV1_ALERT_UNKNOWN_CA, distrusted },
	{ SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, distrusted },
	{ SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, distrusted },
	{ SSL_R_WRONG_VERSION_NUMBER, "it does not speak TLS" },
	{ SSL_R_HTTP_REQUEST, "it does not speak TLS" },
};

static const char *problem_of(const struct end_tls *self)
{
	long verified = SSL_get_verify_result(self->ssl);
	int reason = ERR_GET_REASON(ERR_peek_error());

	if (!SSL_is_server(self->ssl) && verified != X509_V_OK)
		return tls_peer_problem(verified);
	if (self->wants_certificate)
		return no_certificate;
	for (size_t i = 0; i < ARRAY_SIZE(problems); i++) {
		if (problems[i].reason == reason)
			return problems[i].text;
	}
	return self->end.connected ? NULL : "TLS failed";
}

static void fail(struct end_tls *self)
{
	if (!self->end.error) {
		self->end.error = EPROTO;
		self->end.problem = problem_of(self);
	}
	ERR_clear_error();
}

static void shake_hands(struct end_tls *self)
{
	int result;

	ERR_clear_error();
	result = SSL_do_handshake(self->ssl);

	if (result == 1) {
		self->end.connected = true;
		self->end.verified = tls_peer_is_verified(self->ssl);
		self->end.http2 = end_tls_protocol(&self->end) == END_TLS_HTTP2;
		/* No certificate came, so OpenSSL has not looked at one. */
		if (SSL_session_reused(self->ssl) && !self->end.verified &&
		    !SSL_is_server(self->ssl))
			fail(self);
	} else if (SSL_get_error(self->ssl, result) != SSL_ERROR_WANT_READ) {
		fail(self);
	}
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

/* Who was asked for a certificate and had none is often just cut off. */
static void cut(struct end_tls *self, int code)
{
	if (self->end.error)
		return;
	self->end.error = code;
	if (self->wants_certificate)
		self->end.problem = no_certificate;
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
	if (self->lower->error)
		cut(self, self->lower->error);
	/* Cut without the alert that ends TLS: somebody may have cut it. */
	if (self->lower->eof && !self->end.eof && !end_available(self->lower) &&
	    BIO_pending(self->from_peer) == 0)
		cut(self, ECONNRESET);
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

struct end *end_tls_strip(struct end *end)
{
	struct end_tls *self = tls_of(end);
	struct end *lower = self->lower;

	lower->owner = lower->upper = NULL;
	lower->on_event = NULL;
	/* Else OpenSSL would spoil a session that is kept; see cut(). */
	if (!self->end.error)
		SSL_set_shutdown(self->ssl,
				 SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(self->ssl);
	ring_release(&self->in);
	count_memory(self);
	end->on_event = NULL;
	loop_defer_free(self->ends->loop, self);
	return lower;
}

static void tls_close(struct end *end, int code)
{
	end_close(end_tls_strip(end), code);
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

/* No certificate of ours is the guest's to use: none is sent. */
static int on_certificate_wanted(SSL *ssl, void *ctx)
{
	struct end_tls *self = ctx;

	self->wants_certificate = true;
	return 1;
}

/* As TLS writes them: each with its length in front. */
static int offer_protocols(SSL *ssl, enum end_tls_use use)
{
	uint8_t list[64];
	size_t len = 0;

	for (size_t i = use == END_TLS_HTTP_1 ? END_TLS_HTTP1 : 0;
	     i < ARRAY_SIZE(protocols); i++) {
		size_t part = strlen(protocols[i]);

		list[len++] = (uint8_t)part;
		memcpy(list + len, protocols[i], part);
		len += part;
	}
	/* Unlike everything else in that library, 0 is success here. */
	return SSL_set_alpn_protos(ssl, list, (unsigned)len) == 0 ? 0 : -1;
}

/* NULL: it is not in the client's list. */
static const uint8_t *find_protocol(const uint8_t *list, unsigned len,
				    const char *name)
{
	size_t want = strlen(name);

	for (unsigned at = 0; at < len; at += 1u + list[at]) {
		if (list[at] == want && at + 1 + want <= len &&
		    memcmp(list + at + 1, name, want) == 0)
			return list + at;
	}
	return NULL;
}

static int on_protocols_offered(SSL *ssl, const uint8_t **out, uint8_t *out_len,
				const uint8_t *in, unsigned in_len, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		const uint8_t *found = find_protocol(in, in_len, protocols[i]);

		if (!found)
			continue;
		*out = found + 1;
		*out_len = found[0];
		return SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

enum end_tls_protocol end_tls_protocol(const struct end *end)
{
	const uint8_t *name;
	unsigned len;

	SSL_get0_alpn_selected(tls_of(end)->ssl, &name, &len);
	for (int i = 0; i < END_TLS_PROTOCOLS; i++) {
		if (len == strlen(protocols[i]) &&
		    memcmp(name, protocols[i], len) == 0)
			return (enum end_tls_protocol)i;
	}
	return END_TLS_HTTP1;
}

static struct end_tls *make(struct ends *ends, struct end *lower, SSL *ssl)
{
	struct end_tls *self = xcalloc(1, sizeof(*self));

	*self = (struct end_tls){ .end = { .ops = &tls_ops },
				  .ends = ends,
				  .lower = lower,
				  .ssl = ssl,
				  .from_peer = BIO_new(BIO_s_mem()),
				  .to_peer = BIO_new(BIO_s_mem()) };
	SSL_set_bio(ssl, self->from_peer, self->to_peer);
	ring_init(&self->in, LIMIT_SOCKET_BUFFER);
	lower->owner = self;
	lower->upper = &self->end;
	lower->on_event = on_lower;
	return self;
}

/* As OpenSSL wants it: 1 when the session is ours now. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct end_tls *self = SSL_get_app_data(ssl);

	if (!self || !self->sessions || !tls_peer_is_verified(ssl) ||
	    !tls_peer_fits(session, &self->peer))
		return 0;
	tls_sessions_keep(self->sessions, &self->peer, session,
			  SSL_session_reused(ssl) ? self->proved_ms
						  : self->begun_ms);
	return 1;
}

static void use_session(struct end_tls *self)
{
	SSL_SESSION *session;

	self->begun_ms = loop_now_ms();
	session = tls_sessions_take(self->sessions, &self->peer, self->begun_ms,
				    &self->proved_ms);
	if (session && tls_peer_fits(session, &self->peer))
		(void)SSL_set_session(self->ssl, session);
	SSL_SESSION_free(session);
}

struct end *end_tls_client(struct ends *ends, struct end *lower,
			   SSL_CTX *context, const struct authority *peer,
			   enum end_tls_use use, struct tls_sessions *sessions)
{
	SSL *ssl = context ? SSL_new(context) : NULL;
	struct end_tls *self;

	if (!ssl || tls_peer_expect(ssl, peer) < 0 ||
	    (use != END_TLS_BYTES && offer_protocols(ssl, use) < 0)) {
		SSL_free(ssl);
		end_close(lower, ECONNRESET);
		return NULL;
	}
	self = make(ends, lower, ssl);
	SSL_set_cert_cb(ssl, on_certificate_wanted, self);
	SSL_set_connect_state(ssl);
	if (sessions) {
		self->sessions = sessions;
		self->peer = *peer;
		SSL_set_app_data(ssl, self);
		SSL_CTX_sess_set_new_cb(context, on_session);
		use_session(self);
	}
	shake_hands(self);
	flush(self);
	return &self->end;
}

struct end *end_tls_server(struct ends *ends, struct end *lower, SSL *ssl)
{
	struct end_tls *self = make(ends, lower, ssl);

	SSL_CTX_set_alpn_select_cb(SSL_get_SSL_CTX(ssl), on_protocols_offered,
				   NULL);
	SSL_set_accept_state(ssl);
	run(self);
	return &self->end;
}
