/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_client.c - requests of an HTTP/2 client, and responses to it
 *
 * A request's header block is kept until it has been passed on or answered, and
 * parsed again when it is needed again, as HTTP/1 does it.
 */
#include "net/h2_client.h"

#include <errno.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/h2_stream.h"
#include "net/http.h"

enum request_state {
	REQUEST_HEAD, /* its head is on the way */
	REQUEST_HELD, /* being decided about */
	REQUEST_BODY, /* the body passes */
	REQUEST_WAIT, /* it is done, the response is not */
	REQUEST_DONE, /* answered or reset; what was written may still leave */
};

struct h2_request {
	struct http_client base;
	struct h2_client *client;
	struct h2_stream stream;
	struct exchange exchange;
	enum request_state state;
};

static struct h2_request *request_of(const struct http_client *base)
{
	return CONTAINER_OF(base, struct h2_request, base);
}

static struct h2_request *request_of_node(struct list *node)
{
	return CONTAINER_OF(LIST_ENTRY(node, struct h2_stream, link),
			    struct h2_request, stream);
}

static void client_request(struct http_client *base, struct http_request *out)
{
	struct h2_stream *stream = &request_of(base)->stream;
	struct http_problem problem;

	/* It was parsed before, or we would not be asked. */
	(void)http2_request_parse(&stream->blocks[0], stream->ends_at_head, out,
				  &problem);
}

static void client_accept(struct http_client *base)
{
	struct h2_request *self = request_of(base);

	h2_stream_next_block(&self->stream);
	self->state = REQUEST_BODY;
}

static bool client_takes_head(const struct http_client *base)
{
	return h2_session_takes_head(&request_of(base)->client->session);
}

static size_t client_space(const struct http_client *base)
{
	return h2_stream_space(&request_of(base)->stream);
}

static bool has_body(const struct http_body *body)
{
	return body->kind != HTTP_BODY_NONE &&
	       !(body->kind == HTTP_BODY_LENGTH && !body->length);
}

static void send_head(struct h2_request *self,
		      const struct http_response *response,
		      const struct http2_block *block)
{
	nghttp2_session *library = self->client->session.library;
	struct h2_stream *stream = &self->stream;
	nghttp2_nv fields[H2_FIELDS_MAX];
	size_t count = h2_stream_fields(block, fields);

	if (response->is_interim)
		(void)nghttp2_submit_headers(library, NGHTTP2_FLAG_NONE,
					     stream->id, NULL, fields, count,
					     NULL);
	else
		(void)nghttp2_submit_response(
			library, stream->id, fields, count,
			has_body(&response->body) ? &h2_stream_provider : NULL);
}

static void client_head(struct http_client *base,
			struct http_response *response)
{
	struct h2_request *self = request_of(base);
	struct http2_block block;

	http2_block_init_large(&block);
	/* What was parsed fits. */
	if (!self->stream.closed &&
	    http2_response_encode(response, &block) == 0)
		send_head(self, response, &block);
	http2_block_release(&block);
}

static void client_body(struct http_client *base, const void *bytes, size_t len)
{
	h2_stream_write(&request_of(base)->stream, bytes, len);
}

static void client_end(struct http_client *base,
		       const struct http_fields *trailers)
{
	h2_stream_finish(&request_of(base)->stream, trailers);
}

static void client_next(struct http_client *base)
{
	request_of(base)->state = REQUEST_DONE;
}

static uint32_t error_of(int code)
{
	switch (code) {
	case EAGAIN:
		return NGHTTP2_REFUSED_STREAM;
	case ECONNREFUSED:
		return NGHTTP2_CANCEL;
	default:
		return NGHTTP2_INTERNAL_ERROR;
	}
}

static void client_reset(struct http_client *base, int code)
{
	struct h2_request *self = request_of(base);

	exchange_release(&self->exchange);
	self->state = REQUEST_DONE;
	if (!self->stream.closed)
		nghttp2_submit_rst_stream(self->client->session.library,
					  NGHTTP2_FLAG_NONE, self->stream.id,
					  error_of(code));
}

static const struct http_client_ops client_ops = {
	.request = client_request,
	.accept = client_accept,
	.takes_head = client_takes_head,
	.space = client_space,
	.head = client_head,
	.body = client_body,
	.end = client_end,
	.next = client_next,
	.reset = client_reset,
};

static struct h2_stream *on_open(struct h2_session *session)
{
	struct h2_client *client =
		CONTAINER_OF(session, struct h2_client, session);
	struct h2_request *self = xcalloc(1, sizeof(*self));

	self->base =
		(struct http_client){ .ops = &client_ops, .coalesces = true };
	self->client = client;
	exchange_init(&self->exchange, client->http, client->http->flow,
		      &self->base);
	h2_stream_init(&self->stream, session, LIMIT_H2_CLIENT_WINDOW);
	return &self->stream;
}

struct h2_client *h2_client_new(struct http *http)
{
	struct h2_client *client = xcalloc(1, sizeof(*client));

	client->http = http;
	h2_session_init(&client->session, http, http->flow->client, on_open);
	return client;
}

static void free_request(struct h2_request *self, uint32_t error)
{
	exchange_release(&self->exchange);
	h2_stream_release(&self->stream, error);
	loop_defer_free(self->client->http->flow->gate->loop, self);
}

void h2_client_abandon(struct h2_client *client, const char *reason)
{
	LIST_FOR_EACH(node, &client->session.streams) {
		struct h2_request *request = request_of_node(node);

		exchange_abandon(&request->exchange, reason);
		free_request(request, NGHTTP2_CANCEL);
	}
}

void h2_client_free(struct h2_client *client)
{
	LIST_FOR_EACH(node, &client->session.streams)
		free_request(request_of_node(node), NGHTTP2_CANCEL);
	h2_session_release(&client->session);
	loop_defer_free(client->http->flow->gate->loop, client);
}

static void refuse(struct h2_request *self, unsigned status, const char *text)
{
	exchange_refuse(
		&self->exchange,
		&(struct exchange_refusal){ status, AUDIT_DENY, text, NULL });
}

static void begin(struct h2_request *self)
{
	struct h2_stream *stream = &self->stream;
	struct http_request request;
	struct http_problem problem = { 400, "malformed field" };

	self->state = REQUEST_HELD;
	if (stream->malformed ||
	    http2_request_parse(&stream->blocks[0], stream->ends_at_head,
				&request, &problem) < 0) {
		refuse(self, problem.status, problem.text);
		return;
	}
	h2_stream_expect(stream, &request.body);
	exchange_begin(&self->exchange);
}

static void end_body(struct h2_request *self)
{
	struct h2_stream *stream = &self->stream;
	struct http_fields trailers;
	struct http_problem problem = { 400, "malformed field" };

	self->state = REQUEST_WAIT;
	if (!stream->has_trailers)
		exchange_request_end(&self->exchange, NULL);
	else if (!stream->malformed &&
		 http2_trailers_parse(&stream->blocks[0], &trailers,
				      &problem) == 0)
		exchange_request_end(&self->exchange, &trailers);
	else
		refuse(self, problem.status, problem.text);
}

/* False: nothing more can be done now. */
static bool pass_body(struct h2_request *self)
{
	size_t room = exchange_request_space(&self->exchange);
	struct span bytes;

	if (!room)
		return false;
	switch (h2_stream_read(&self->stream, room, &bytes)) {
	case H2_STREAM_BYTES:
		exchange_request_body(&self->exchange, bytes.bytes, bytes.len);
		h2_stream_take(&self->stream, bytes.len);
		return true;
	case H2_STREAM_END:
		end_body(self);
		return true;
	case H2_STREAM_BAD:
		refuse(self, 400, "a body other than Content-Length");
		return true;
	default:
		return false;
	}
}

/* The response is whole and has left, but the client goes on sending. */
static bool is_answered_early(const struct h2_stream *stream)
{
	return !stream->in_end &&
	       nghttp2_session_get_stream_local_close(stream->session->library,
						      stream->id) == 1;
}

static void serve(struct h2_request *self)
{
	struct h2_stream *stream = &self->stream;

	if (stream->closed) {
		exchange_abandon(&self->exchange,
				 "the client gave the request up");
		free_request(self, NGHTTP2_NO_ERROR);
		return;
	}
	if (self->state == REQUEST_HEAD && stream->block_count)
		begin(self);
	while (self->state == REQUEST_BODY && pass_body(self))
		;
	if (self->state == REQUEST_DONE && is_answered_early(stream))
		free_request(self, NGHTTP2_NO_ERROR);
}

/* A head that does not become whole, or a client that says nothing at all. */
static void watch_time(struct h2_client *self)
{
	struct flow *flow = self->http->flow;

	if (self->session.greeted && !self->session.heading)
		deadline_stop(&flow->deadline);
	else if (list_empty(&flow->deadline.link))
		deadline_start(&flow->gate->peek, &flow->deadline);
}

/* A client that only listens could not even say that it has room. */
static bool ends(const struct h2_client *self)
{
	const struct end *end = self->session.end;

	return self->session.broke || h2_session_is_over(&self->session) ||
	       (end->eof && !end_available(end));
}

static void finish(struct h2_client *self)
{
	struct flow *flow = self->http->flow;
	const char *broke = self->session.broke;

	h2_client_abandon(self, broke ? broke : "the client ended it");
	if (broke) {
		self->http->heard = true;
		flow_log(flow, AUDIT_DENY, broke);
	}
	flow_linger(flow);
}

void h2_client_run(struct h2_client *client)
{
	h2_session_receive(&client->session);
	LIST_FOR_EACH(node, &client->session.streams) {
		serve(request_of_node(node));
		if (client->http->over)
			return;
	}
	watch_time(client);
	h2_session_send(&client->session);
	if (ends(client))
		finish(client);
}

void h2_client_on_deadline(struct h2_client *client)
{
	client->session.broke = "no whole head in time";
	nghttp2_session_terminate_session(client->session.library,
					  NGHTTP2_ENHANCE_YOUR_CALM);
	h2_session_send(&client->session);
	finish(client);
}

void h2_client_recheck(struct h2_client *client)
{
	LIST_FOR_EACH(node, &client->session.streams) {
		exchange_recheck(&request_of_node(node)->exchange);
		if (client->http->over)
			return;
	}
}
