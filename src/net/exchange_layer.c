/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_layer.c - what the cache of layers has to do with one request
 */
#include "net/exchange_layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/exchange.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/layer_sink.h"
#include "net/layers.h"

enum layer_state {
	LAYER_ASKING,   /* bawn-layers */
	LAYER_CHECKING, /* it is there: may this client have it? */
	LAYER_SERVING,  /* it may */
	LAYER_OFFERED,  /* it is not there: it may come now */
	LAYER_STORING,  /* it does */
};

struct exchange_layer {
	struct exchange *exchange;
	enum layer_state state;
	struct layer_ask ask;
	bool tied;     /* the store of a registry, which was asked before */
	int fd;        /* owned: the file, or the pipe */
	uint64_t left; /* of the file */
	uint64_t size; /* of it */
	struct layer_sink *sink; /* owned; NULL: none */
	char digest[sizeof("sha256:") + BLOB_HEX];
};

static const char from_cache[] = "from the host's cache of layers";

void exchange_layer_release(struct exchange *exchange)
{
	struct exchange_layer *layer = TAKE_PTR(exchange->layer);

	if (!layer)
		return;
	layer_ask_cancel(&layer->ask);
	layer_sink_drop(layer->sink);
	if (layer->fd >= 0)
		close(layer->fd);
	loop_defer_free(exchange->flow->gate->loop, layer);
}

static void find_server(struct exchange *exchange)
{
	servers_find(&exchange->http->servers, exchange);
}

static void on_answer(struct layer_ask *ask, enum layer_answer answer, int fd,
		      uint64_t size)
{
	struct exchange_layer *layer =
		CONTAINER_OF(ask, struct exchange_layer, ask);
	struct exchange *exchange = layer->exchange;
	struct http *http = exchange->http;

	layer->fd = fd;
	layer->left = layer->size = size;
	layer->state = answer == LAYER_HAVE ? LAYER_CHECKING : LAYER_OFFERED;
	/* Who was sent here gets it here, and it is kept already. */
	if (answer == LAYER_NONE || (answer == LAYER_HAVE && layer->tied))
		exchange_layer_release(exchange);
	find_server(exchange);
	http_run(http);
}

/* A part of it, or under a condition, is for the registry to answer. */
static bool is_plain(struct exchange *exchange)
{
	static const char *const others[] = { "range", "if-none-match",
					      "if-match", "if-range",
					      "if-modified-since" };
	struct http_request request;

	exchange->client->ops->request(exchange->client, &request);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (http_fields_find(&request.fields, others[i], NULL))
			return false;
	}
	return request.body.kind == HTTP_BODY_NONE && !exchange->upgrade;
}

/* Which registry: nobody else can say who may have its layers. */
static int name_registry(const struct exchange *exchange, char *out)
{
	const struct target *target = &exchange->target;
	const bool secure = exchange->flow->protocol == AUDIT_HTTPS;

	if (!target->name || (!secure && !target->is_host))
		return -1;
	return text_format(out, LAYERS_REGISTRY_SIZE, "%s://%s:%u",
			   secure ? "https" : "http", target->name,
			   (unsigned)target->port);
}

/* What this is a request for; -1: for no layer. */
static int describe(const struct exchange *exchange, struct layers_tie *out)
{
	const struct layers_tie *tie =
		layers_tied(&exchange->flow->gate->layers, &exchange->target,
			    exchange->path, exchange->query);

	*out = (struct layers_tie){ .target = NULL };
	if (tie) {
		*out = *tie;
		return exchange->flow->protocol == AUDIT_HTTPS ? 0 : -1;
	}
	if (exchange->query ||
	    blob_path_parse(span_of(exchange->path), out->hex) < 0)
		return -1;
	return name_registry(exchange, out->registry);
}

void exchange_layer_find(struct exchange *exchange)
{
	struct layers *layers = &exchange->flow->gate->layers;
	struct exchange_layer *layer;
	struct layers_tie what;

	if (layers->state == LAYERS_OFF || exchange->layer ||
	    strcmp(exchange->method, "GET") != 0 ||
	    describe(exchange, &what) < 0 || !is_plain(exchange)) {
		find_server(exchange);
		return;
	}
	layer = xcalloc(1, sizeof(*layer));
	*layer = (struct exchange_layer){ .exchange = exchange,
					  .tied = what.target != NULL,
					  .fd = -1 };
	layer_ask_init(&layer->ask, on_answer);
	text_copy(layer->ask.registry, sizeof(layer->ask.registry),
		  what.registry);
	text_copy(layer->ask.hex, sizeof(layer->ask.hex), what.hex);
	exchange->layer = layer;
	if (layers_ask(layers, &layer->ask) == 0)
		return;
	exchange_layer_release(exchange);
	find_server(exchange);
}

void exchange_layer_request(struct exchange *exchange,
			    const struct http_server *server,
			    struct http_request *request)
{
	struct exchange_layer *layer = exchange->layer;

	if (!layer)
		return;
	/* Masked responses are no layers; none comes without a proof. */
	if (exchange_secrets_bound(exchange) ||
	    (exchange->flow->protocol == AUDIT_HTTPS && !server->verified) ||
	    (layer->state == LAYER_CHECKING &&
	     exchange->flow->gate->layers.no_heads)) {
		exchange_layer_release(exchange);
		return;
	}
	if (layer->state != LAYER_CHECKING)
		return;
	request->method = span_of("HEAD");
	request->method_kind = HTTP_METHOD_HEAD;
}

enum http_method exchange_layer_method(const struct exchange *exchange)
{
	return exchange->layer && exchange->layer->state == LAYER_CHECKING
		       ? HTTP_METHOD_HEAD
		       : exchange->method_kind;
}

static bool is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 ||
	       status == 307 || status == 308;
}

/* -1: it is none to a store. */
static int redirect_of(const struct exchange_layer *layer,
		       const struct http_response *response,
		       struct blob_redirect *out)
{
	const struct http_field *location =
		http_fields_find(&response->fields, "location", NULL);

	if (!is_redirect(response->status) || !location)
		return -1;
	return blob_redirect_parse(location->value, layer->ask.hex, out);
}

static void serve(struct exchange_layer *layer, struct http_response *response)
{
	layer->state = LAYER_SERVING;
	(void)text_format(layer->digest, sizeof(layer->digest), "sha256:%s",
			  layer->ask.hex);
	response->status = 200;
	response->reason = span_of("OK");
	response->body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
					     .has_length = true,
					     .length = layer->size };
	http_fields_init(&response->fields);
	(void)http_fields_add(&response->fields, span_of("Content-Type"),
			      span_of("application/octet-stream"));
	(void)http_fields_add(&response->fields,
			      span_of("Docker-Content-Digest"),
			      span_of(layer->digest));
}

static void take_verdict(struct exchange *exchange,
			 struct http_response *response)
{
	struct exchange_layer *layer = exchange->layer;
	struct blob_redirect redirect;

	if (exchange->request_done &&
	    (response->status == 200 ||
	     redirect_of(layer, response, &redirect) == 0)) {
		serve(layer, response);
		return;
	}
	if (response->status == 405 || response->status == 501)
		exchange->flow->gate->layers.no_heads = true;
	if (response->status == 200)
		response->status = 502;
	/* Of a HEAD there is no body, and the client must know. */
	response->body = (struct http_body){ .kind = HTTP_BODY_LENGTH,
					     .has_length = true };
	exchange_layer_release(exchange);
}

static void on_space(void *ctx)
{
	struct exchange_layer *layer = ctx;

	http_run(layer->exchange->http);
}

static void begin_storing(struct exchange *exchange,
			  const struct http_response *response)
{
	struct exchange_layer *layer = exchange->layer;
	struct layers *layers = &exchange->flow->gate->layers;
	struct blob_redirect redirect;

	if (redirect_of(layer, response, &redirect) == 0 && !layer->tied)
		layers_tie(layers, &layer->ask, &redirect);
	if (response->status != 200 ||
	    http_fields_find(&response->fields, "content-encoding", NULL)) {
		exchange_layer_release(exchange);
		return;
	}
	layer->state = LAYER_STORING;
	layer->sink = layer_sink_new(exchange->flow->gate->loop,
				     TAKE_FD(layer->fd), on_space, layer);
}

void exchange_layer_head(struct exchange *exchange,
			 struct http_response *response)
{
	struct exchange_layer *layer = exchange->layer;

	if (!layer || response->is_interim)
		return;
	if (layer->state == LAYER_CHECKING)
		take_verdict(exchange, response);
	else if (layer->state == LAYER_OFFERED)
		begin_storing(exchange, response);
}

void exchange_layer_body(struct exchange *exchange, const void *bytes,
			 size_t len)
{
	if (exchange->layer && exchange->layer->sink)
		layer_sink_write(exchange->layer->sink, bytes, len);
}

bool exchange_layer_end(struct exchange *exchange)
{
	struct exchange_layer *layer = exchange->layer;

	if (!layer)
		return false;
	if (layer->state != LAYER_SERVING) {
		layer_sink_finish(TAKE_PTR(layer->sink));
		return false;
	}
	exchange->http->moved++;
	exchange->server->exchange = NULL;
	exchange->server = NULL;
	list_append(&exchange->http->serving, &exchange->waiting);
	return true;
}

size_t exchange_layer_space(const struct exchange *exchange, size_t space)
{
	const struct exchange_layer *layer = exchange->layer;

	return layer && layer->sink && !layer_sink_takes(layer->sink) ? 0
								      : space;
}

static void finish(struct exchange *exchange)
{
	struct http_client *client = exchange->client;

	exchange->http->moved++;
	client->ops->end(client, NULL);
	exchange_log(exchange, AUDIT_ALLOW, from_cache);
	exchange_release(exchange);
	client->ops->next(client);
}

/* False: nothing more can be done now. */
static bool pass(struct exchange *exchange)
{
	struct exchange_layer *layer = exchange->layer;
	struct gate *gate = exchange->flow->gate;
	size_t room = exchange_response_space(exchange);
	ssize_t n;

	if (!layer->left) {
		finish(exchange);
		return false;
	}
	if (room > sizeof(gate->scratch))
		room = sizeof(gate->scratch);
	if (room > layer->left)
		room = (size_t)layer->left;
	if (!room)
		return false;
	n = read(layer->fd, gate->scratch, room);
	if (n <= 0) {
		exchange_reset(exchange, AUDIT_ALLOW,
			       "the cache cannot be read", ECONNRESET);
		return false;
	}
	layer->left -= (uint64_t)n;
	exchange_response_body(exchange, gate->scratch, (size_t)n);
	return true;
}

void exchange_layer_run(struct http *http)
{
	LIST_FOR_EACH(node, &http->serving) {
		struct exchange *exchange =
			LIST_ENTRY(node, struct exchange, waiting);

		while (pass(exchange))
			;
		if (http->over)
			return;
	}
}
