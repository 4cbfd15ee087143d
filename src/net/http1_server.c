/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_server.c - requests to an HTTP/1 server, and its responses
 */
#include "net/http1_server.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "net/end.h"
#include "net/exchange_layer.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/http1_sink.h"

static struct http1_server *server_of(const struct http_server *base)
{
	return CONTAINER_OF(base, struct http1_server, base);
}

static int server_head(struct http_server *base, struct http_request *request,
		       bool upgrade)
{
	struct http1_server *self = server_of(base);
	struct gate *gate = self->http->flow->gate;
	unsigned flags = (self->absolute ? HTTP1_ABSOLUTE : 0) |
			 (upgrade ? HTTP1_UPGRADE : 0);
	int len;

	if (self->login &&
	    http_fields_add(&request->fields, span_of("Proxy-Authorization"),
			    span_of(self->login)) < 0)
		return -1;
	len = http1_request_encode(request, flags, gate->encoded,
				   sizeof(gate->encoded));
	gate->encoded_len = len < 0 ? sizeof(gate->encoded) : (size_t)len;
	if (len < 0)
		return -1;
	end_write(self->end, gate->encoded, (size_t)len);
	self->chunked = request->body.kind == HTTP_BODY_CHUNKED;
	self->state = HTTP1_SERVER_HEAD;
	self->scanned = 0;
	self->heard = false;
	return 0;
}

static size_t server_space(const struct http_server *base)
{
	const struct http1_server *self = server_of(base);

	return http1_sink_space(self->end, self->chunked);
}

static void server_body(struct http_server *base, const void *bytes, size_t len)
{
	struct http1_server *self = server_of(base);

	http1_sink_body(self->end, self->chunked, bytes, len);
}

static void server_end(struct http_server *base,
		       const struct http_fields *trailers)
{
	struct http1_server *self = server_of(base);

	http1_sink_end(self->end, self->chunked, trailers);
}

static void server_leave(struct http_server *base)
{
	struct http1_server *self = server_of(base);

	if (self->state != HTTP1_SERVER_IDLE)
		http1_server_close(self);
}

static const struct http_server_ops server_ops = {
	.head = server_head,
	.space = server_space,
	.body = server_body,
	.end = server_end,
	.leave = server_leave,
};

void http1_server_init(struct http1_server *server, struct http *http)
{
	*server = (struct http1_server){ .base = { .ops = &server_ops },
					 .http = http };
}

void http1_server_use(struct http1_server *server, struct end *end,
		      bool absolute, char *login)
{
	server->end = end;
	server->base.verified = end->verified;
	server->absolute = absolute;
	server->login = login;
	server->reused = false;
	server->state = HTTP1_SERVER_IDLE;
}

void http1_server_close(struct http1_server *server)
{
	end_close(server->end,
		  server->state == HTTP1_SERVER_IDLE ? 0 : ECONNRESET);
	free(server->login);
	http1_server_init(server, server->http);
}

bool http1_server_is_idle(const struct http1_server *server)
{
	return server->state == HTTP1_SERVER_IDLE && !server->end->error &&
	       !server->end->eof && !end_available(server->end);
}

/*
 * A server may close a kept connection while a request is on its way to it.
 * The client gets no answer either, and tries again as it would without us.
 */
static void fail(struct http1_server *self, const char *reason)
{
	struct exchange *exchange = self->base.exchange;

	if (self->reused && !self->heard)
		exchange_reset(exchange, AUDIT_ALLOW, reason,
			       exchange_is_safe(exchange) ? EAGAIN
							  : ECONNRESET);
	else
		exchange_refuse(exchange,
				&(struct exchange_refusal){ 502, AUDIT_ALLOW,
							    reason, NULL });
}

static const uint8_t *gather(struct http1_server *self, size_t max, size_t *len)
{
	struct gate *gate = self->http->flow->gate;

	if (max > sizeof(gate->scratch))
		max = sizeof(gate->scratch);
	end_fill(self->end);
	return end_gather(self->end, gate->scratch, max, len);
}

/* No more will come, or only an error. */
static bool at_end(const struct http1_server *self)
{
	return self->end->error || self->end->eof;
}

static bool take_tunnel(struct http1_server *self,
			struct http_response *response)
{
	struct exchange *exchange = self->base.exchange;

	if (!exchange->upgrade ||
	    !span_matches_text(response->upgrade, "websocket")) {
		fail(self, "the server changed the protocol unasked");
		return false;
	}
	exchange_response_head(exchange, response);
	return true;
}

static bool take_response(struct http1_server *self, size_t head_len,
			  struct http_response *response)
{
	const char *problem =
		exchange_check_response(self->base.exchange, response);

	if (problem) {
		fail(self, problem);
		return false;
	}
	if (response->is_tunnel) {
		if (!take_tunnel(self, response))
			return false;
		end_take(self->end, head_len);
		http_become_tunnel(self->base.exchange, TAKE_PTR(self->end));
		return false;
	}
	if (!response->is_interim) {
		self->keep = response->keep_alive &&
			     response->body.kind != HTTP_BODY_UNTIL_CLOSE;
		http1_body_init(&self->body, &response->body);
		self->state = HTTP1_SERVER_BODY;
	}
	exchange_response_head(self->base.exchange, response);
	end_take(self->end, head_len);
	self->scanned = 0;
	return true;
}

/* False: nothing more can be done now. */
static bool read_head(struct http1_server *self)
{
	struct exchange *exchange = self->base.exchange;
	struct http_response response;
	struct http_problem problem;
	const uint8_t *bytes;
	size_t len;
	int head;

	if (!exchange->client->ops->takes_head(exchange->client))
		return false;
	bytes = gather(self, SIZE_MAX, &len);
	self->heard |= len > 0;
	head = http1_head_length(bytes, len, &self->scanned, &problem);
	if (head == 0 && at_end(self))
		fail(self, self->end->problem
				   ? self->end->problem
				   : "the server closed before it answered");
	if (head == 0)
		return false;
	if (head < 0 || http1_response_parse(bytes, (size_t)head,
					     exchange_layer_method(exchange),
					     &response, &problem) < 0) {
		fail(self, problem.text);
		return false;
	}
	return take_response(self, (size_t)head, &response);
}

/* The response is whole: is the connection good for another request? */
static void settle(struct http1_server *self, bool request_done)
{
	bool good = self->keep && request_done && !end_available(self->end);

	self->state = HTTP1_SERVER_IDLE;
	self->reused = true;
	if (!good)
		http1_server_close(self);
}

static bool end_body(struct http1_server *self, const struct span *text,
		     size_t taken)
{
	struct exchange *exchange = self->base.exchange;
	bool request_done = exchange->request_done;
	struct http_fields trailers;
	struct http_problem problem;

	if (text->len && http1_trailers_parse(text->bytes, text->len, &trailers,
					      &problem) < 0) {
		fail(self, problem.text);
		return false;
	}
	exchange_response_end(exchange, text->len ? &trailers : NULL);
	if (self->http->over)
		return false;
	end_take(self->end, taken);
	settle(self, request_done);
	return false;
}

static bool read_body(struct http1_server *self)
{
	struct exchange *exchange = self->base.exchange;
	size_t room = exchange_response_space(exchange), len;
	struct http1_piece piece = { 0 };
	enum http1_body_result result;
	const uint8_t *bytes;

	if (!room)
		return false;
	bytes = gather(self, room, &len);
	result = http1_body_read(&self->body, bytes, len, &piece);
	if (piece.content.len)
		exchange_response_body(exchange, piece.content.bytes,
				       piece.content.len);
	if (result == HTTP1_BODY_BAD) {
		fail(self, piece.problem);
		return false;
	}
	if (result == HTTP1_BODY_DONE)
		return end_body(self, &piece.trailers, piece.taken);
	end_take(self->end, piece.taken);
	if (result == HTTP1_BODY_CONTENT || piece.taken)
		return true;
	if (!at_end(self))
		return false;
	if (http1_body_end(&self->body) == 0 && !self->end->error)
		return end_body(self, &(struct span){ 0 }, 0);
	fail(self, "the server cut its response");
	return false;
}

void http1_server_run(struct http1_server *server)
{
	bool more = server->end != NULL;

	while (more && !server->http->over && server->end) {
		switch (server->state) {
		case HTTP1_SERVER_HEAD:
			more = read_head(server);
			break;
		case HTTP1_SERVER_BODY:
			more = read_body(server);
			break;
		default:
			end_fill(server->end);
			if (!http1_server_is_idle(server))
				http1_server_close(server);
			return;
		}
	}
}
