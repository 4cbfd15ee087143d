/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h - one request and its response, between two codecs
 *
 * A codec speaks one version of HTTP on one end: the client's (requests in,
 * responses out) or the server's. They never see each other: a head, pieces of
 * a body and trailers pass through the exchange, which decides about the
 * request before anything of it leaves. Nothing is kept but what is on its way:
 * a codec hands over no more than the other one has space for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "net/ask.h"
#include "net/decision.h"
#include "net/exchange_secrets.h"
#include "net/renew.h"
#include "net/target.h"
#include "wire/http_head.h"

struct flow;
struct http;

/* Where the request comes from and the response goes to. */
struct http_client {
	const struct http_client_ops *ops;
	bool coalesces; /* may ask for other hosts here, and can be told not to
			 */
};

struct http_client_ops {
	/*
	 * The head of the request, as often as it is asked for, until accept.
	 * Borrowed from the end's bytes or scratch memory: used at once.
	 */
	void (*request)(struct http_client *client, struct http_request *out);
	/* The head was used: the body may follow. */
	void (*accept)(struct http_client *client);
	/* Can the head of a response be taken, however long it is? */
	bool (*takes_head)(const struct http_client *client);
	/* How much of a body can be taken. */
	size_t (*space)(const struct http_client *client);
	/* May change the framing. */
	void (*head)(struct http_client *client,
		     struct http_response *response);
	void (*body)(struct http_client *client, const void *bytes, size_t len);
	void (*end)(struct http_client *client,
		    const struct http_fields *trailers);
	/* The exchange is over; the next may begin. */
	void (*next)(struct http_client *client);
	/*
	 * There will be no (whole) response, and the client must see that: the
	 * connection ends, or what of it is this exchange. EAGAIN: the request
	 * went nowhere and may be made again.
	 */
	void (*reset)(struct http_client *client, int code);
};

/* Where the request goes to. */
struct http_server {
	const struct http_server_ops *ops;
	bool verified;             /* it proved its name to the host's trust */
	struct exchange *exchange; /* borrowed; NULL: none now */
	struct address address;    /* family 0: unknown, by a proxy */
	bool by_proxy;             /* of the host */
};

struct http_server_ops {
	int (*head)(struct http_server *server, struct http_request *request,
		    bool upgrade);
	size_t (*space)(const struct http_server *server);
	void (*body)(struct http_server *server, const void *bytes, size_t len);
	void (*end)(struct http_server *server,
		    const struct http_fields *trailers);
	/* The exchange needs it no more, whatever was under way. */
	void (*leave)(struct http_server *server);
};

enum exchange_state {
	EXCHANGE_IDLE,       /* between two requests */
	EXCHANGE_ASKING,     /* a person is asked */
	EXCHANGE_CONNECTING, /* decided; there is no server yet */
	EXCHANGE_OPEN,       /* request and response pass */
};

struct exchange {
	struct http *http;
	struct flow *flow;
	struct http_client *client; /* borrowed */
	struct http_server *server; /* borrowed; NULL: none yet */
	struct list waiting; /* for a server, in servers.h; or `serving` */
	enum exchange_state state;

	struct target target;
	struct decision decision;
	char method[HTTP_METHOD_MAX + 1];
	enum http_method method_kind;
	char *path;  /* owned: without the query */
	char *query; /* owned: with the `?`; NULL: none */
	bool upgrade;
	bool request_done, response_begun;
	unsigned status;
	uint64_t started_ms;
	uint64_t bytes_out, bytes_in; /* of bodies */
	struct ask_waiter waiter;
	struct renew_waiter renewing; /* a login, or waits for that */
	struct exchange_secrets secrets;
	struct exchange_login *login; /* owned; NULL: for no token endpoint */
	struct exchange_layer *layer; /* owned; NULL: for no layer of ours */
};

void exchange_init(struct exchange *exchange, struct http *http,
		   struct flow *flow, struct http_client *client);
/* Forgets what belongs to one request. */
void exchange_release(struct exchange *exchange);

/* A request's head is whole: decides about it. */
void exchange_begin(struct exchange *exchange);
/* The server's end is there. */
void exchange_send(struct exchange *exchange, struct http_server *server);

/* From the client's codec: how much of a body may follow now, and it. */
size_t exchange_request_space(const struct exchange *exchange);
void exchange_request_body(struct exchange *exchange, const void *bytes,
			   size_t len);
/* False: it was refused, and the client may go on with the next one. */
bool exchange_request_end(struct exchange *exchange,
			  const struct http_fields *trailers);
/* From the server's codec: how much of a body may follow now. */
size_t exchange_response_space(const struct exchange *exchange);
/* NULL: this head may be passed on; else why it may not (static). */
const char *exchange_check_response(const struct exchange *exchange,
				    const struct http_response *response);
void exchange_response_head(struct exchange *exchange,
			    struct http_response *response);
void exchange_response_body(struct exchange *exchange, const void *bytes,
			    size_t len);
void exchange_response_end(struct exchange *exchange,
			   const struct http_fields *trailers);

/*
 * Answers by itself, as long as no response has begun; else the connection
 * ends. verdict, reason: for the log; text: for the client, NULL: the reason.
 */
struct exchange_refusal {
	unsigned status;
	enum audit_verdict verdict;
	const char *reason;
	const char *text;
};
void exchange_refuse(struct exchange *exchange,
		     const struct exchange_refusal *refusal);
/* Logs, and lets the client see that there is no response; see `reset`. */
void exchange_reset(struct exchange *exchange, enum audit_verdict verdict,
		    const char *reason, int code);
/* The client gave it up, or its connection is gone: logs what was allowed. */
void exchange_abandon(struct exchange *exchange, const char *reason);
/* Decides again; what is no longer allowed is reset. */
void exchange_recheck(struct exchange *exchange);
/* Asking twice is as good as once (RFC 9110, 9.2.1), and nothing follows. */
bool exchange_is_safe(const struct exchange *exchange);
void exchange_log(const struct exchange *exchange, enum audit_verdict verdict,
		  const char *reason);
