/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream_proxy.c - the way through the host's own proxy
 */
#include "net/upstream_proxy.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/config.h"
#include "net/end.h"
#include "net/end_tls.h"
#include "net/gate.h"
#include "net/no_proxy.h"
#include "net/socks5.h"
#include "net/target.h"
#include "wire/http1_encode.h"

enum handshake_state {
	HANDSHAKE_TLS,     /* the proxy proves who it is */
	HANDSHAKE_CONNECT, /* CONNECT was sent */
	HANDSHAKE_METHOD,  /* SOCKS: greeting was sent */
	HANDSHAKE_LOGIN,   /* SOCKS: user and password were sent */
	HANDSHAKE_SOCKS,   /* SOCKS: the target was sent */
	HANDSHAKE_DONE,
};

struct handshake {
	struct gate *gate;
	struct proxy_url proxy;
	struct end *end; /* owned */
	struct target target;
	bool has_target;
	enum handshake_state state;
	size_t scanned;
	handshake_fn *fn;
	void *ctx;
	struct deadline soon; /* there is nothing to wait for */
};

const struct proxy_url *upstream_proxy_for(const struct config *config,
					   const struct target *target,
					   bool is_http)
{
	const struct proxy_url *proxy =
		is_http ? &config->http_proxy : &config->https_proxy;
	bool has = is_http ? config->has_http_proxy : config->has_https_proxy;

	if (!has || target->is_host ||
	    no_proxy_has(config->no_proxy, target->name,
			 target->name ? NULL : &target->address, target->port))
		return NULL;
	return proxy;
}

bool upstream_proxy_takes_requests(const struct proxy_url *proxy)
{
	return proxy->kind == PROXY_HTTP || proxy->kind == PROXY_HTTPS;
}

char *upstream_proxy_login(const struct proxy_url *proxy)
{
	char plain[2 * PROXY_LOGIN_MAX + 2];
	unsigned char coded[4 * sizeof(plain) / 3 + 4];

	if (!proxy->has_login)
		return NULL;
	(void)text_format(plain, sizeof(plain), "%s:%s", proxy->user,
			  proxy->password);
	EVP_EncodeBlock(coded, (const unsigned char *)plain,
			(int)strlen(plain));
	return xasprintf("Basic %s", (const char *)coded);
}

static void finish(struct handshake *self, const char *why)
{
	struct end *end = TAKE_PTR(self->end);

	self->state = HANDSHAKE_DONE;
	deadline_stop(&self->soon);
	if (end) {
		end->on_event = NULL;
		end->owner = NULL;
	}
	if (why) {
		end_close(end, ECONNRESET);
		end = NULL;
	}
	if (self->fn)
		self->fn(self->ctx, end, why);
	target_release(&self->target);
	loop_defer_free(self->gate->loop, self);
}

static void send_connect(struct handshake *self)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
	AUTO_FREE char *login = upstream_proxy_login(&self->proxy);
	struct authority to = { .address = self->target.address,
				.port = self->target.port };
	char host[AUTHORITY_TEXT_SIZE];

	target_host(&self->target, to.host);
	authority_format(&to, host);
	(void)buffer_printf(&text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", host,
			    host);
	if (login)
		(void)buffer_printf(&text, "Proxy-Authorization: %s\r\n",
				    login);
	(void)buffer_printf(&text, "\r\n");
	end_write(self->end, text.data, text.len);
	self->state = HANDSHAKE_CONNECT;
}

static void send_greeting(struct handshake *self)
{
	uint8_t bytes[SOCKS5_MESSAGE_MAX];
	size_t len = socks5_encode_greeting(self->proxy.has_login, bytes);

	end_write(self->end, bytes, len);
	self->state = HANDSHAKE_METHOD;
}

/* The end is connected, and where it must be, encrypted. */
static void begin(struct handshake *self)
{
	if (!self->has_target)
		finish(self, NULL);
	else if (self->proxy.kind == PROXY_SOCKS5)
		send_greeting(self);
	else
		send_connect(self);
}

/* Bytes used, 0: more is needed, -1: refused. */
static int hear_connect(struct handshake *self, const uint8_t *bytes,
			size_t len, const char **why)
{
	struct http_response response;
	struct http_problem problem;
	int head = http1_head_length(bytes, len, &self->scanned, &problem);

	if (head == 0)
		return 0;
	*why = "the upstream proxy does not speak HTTP";
	if (head < 0 ||
	    http1_response_parse(bytes, (size_t)head, HTTP_METHOD_CONNECT,
				 &response, &problem) < 0)
		return -1;
	if (response.is_interim)
		return head;
	*why = response.status == 407 ? "the upstream proxy wants a login"
				      : "the upstream proxy refuses";
	if (!response.is_tunnel)
		return -1;
	self->state = HANDSHAKE_DONE;
	return head;
}

static void send_socks(struct handshake *self)
{
	uint8_t bytes[SOCKS5_MESSAGE_MAX];

	end_write(self->end, bytes,
		  socks5_encode_connect(&self->target, bytes));
	self->state = HANDSHAKE_SOCKS;
}

static int hear_method(struct handshake *self, const uint8_t *bytes, size_t len)
{
	enum socks5_method method = SOCKS5_PLAIN;
	uint8_t login[SOCKS5_MESSAGE_MAX];
	int used = socks5_parse_choice(bytes, len, &method);

	if (used <= 0)
		return used;
	if (method == SOCKS5_LOGIN && !self->proxy.has_login)
		return -1;
	if (method == SOCKS5_PLAIN) {
		send_socks(self);
		return used;
	}
	end_write(self->end, login,
		  socks5_encode_login(self->proxy.user, self->proxy.password,
				      login));
	self->state = HANDSHAKE_LOGIN;
	return used;
}

static int hear(struct handshake *self, const uint8_t *bytes, size_t len,
		const char **why)
{
	int used;

	*why = "the upstream proxy refuses";
	switch (self->state) {
	case HANDSHAKE_CONNECT:
		return hear_connect(self, bytes, len, why);
	case HANDSHAKE_METHOD:
		return hear_method(self, bytes, len);
	case HANDSHAKE_LOGIN:
		*why = "the upstream proxy refuses the login";
		used = socks5_parse_login_reply(bytes, len);
		if (used > 0)
			send_socks(self);
		return used;
	case HANDSHAKE_SOCKS:
		used = socks5_parse_connect_reply(bytes, len);
		if (used > 0)
			self->state = HANDSHAKE_DONE;
		return used;
	default:
		return -1;
	}
}

static void listen_to(struct handshake *self)
{
	const char *why = NULL;
	int used;

	end_fill(self->end);
	do {
		size_t len;
		const uint8_t *bytes =
			end_gather(self->end, self->gate->scratch,
				   sizeof(self->gate->scratch), &len);

		used = hear(self, bytes, len, &why);
		if (used > 0)
			end_take(self->end, (size_t)used);
	} while (used > 0 && self->state != HANDSHAKE_DONE);
	if (used < 0)
		finish(self, why);
	else if (self->state == HANDSHAKE_DONE)
		finish(self, NULL);
	else if (self->end->eof)
		finish(self, "the upstream proxy closed the connection");
}

static void on_end(struct end *end)
{
	struct handshake *self = end->owner;

	if (end->error)
		finish(self, self->state == HANDSHAKE_TLS
				     ? "the upstream proxy is not trusted"
				     : "the upstream proxy closed it");
	else if (self->state != HANDSHAKE_TLS)
		listen_to(self);
	else if (end->connected)
		begin(self);
}

static void on_soon(struct deadline *deadline)
{
	struct handshake *self = CONTAINER_OF(deadline, struct handshake, soon);

	if (!self->end)
		finish(self, "the host's certificates cannot be read");
	else
		on_end(self->end);
}

struct handshake *handshake_start(struct gate *gate,
				  const struct proxy_url *proxy,
				  struct end *end, const struct target *target,
				  handshake_fn *fn, void *ctx)
{
	struct handshake *self = xcalloc(1, sizeof(*self));

	*self = (struct handshake){
		.gate = gate, .proxy = *proxy, .end = end, .fn = fn, .ctx = ctx
	};
	if (target) {
		target_copy(target, &self->target);
		self->has_target = true;
	}
	deadline_init(&self->soon, on_soon);
	if (proxy->kind == PROXY_HTTPS)
		self->end = end_tls_client(&gate->ends, end,
					   trust_context(&gate->trust),
					   &proxy->server, END_TLS_BYTES, NULL);
	if (self->end) {
		self->end->owner = self;
		self->end->on_event = on_end;
	}
	deadline_start(&gate->soon, &self->soon);
	return self;
}

void handshake_cancel(struct handshake *handshake)
{
	if (!handshake)
		return;
	handshake->fn = NULL;
	finish(handshake, "cancelled");
}
