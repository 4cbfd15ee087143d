/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_client.c - requests of an HTTP/1 client, and responses to it
 *
 * A request's head stays where it is until it has been passed on or answered:
 * it is parsed again when it is needed again, and nothing is copied.
 */
#include "net/http1_client.h"

#include <errno.h>

#include "base/own.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/http1_sink.h"

static struct http1_client *client_of(const struct http_client *base)
{
	return CONTAINER_OF(base, struct http1_client, base);
}

static struct end *end_of(const struct http1_client *self)
{
	return self->http->flow->client;
}

static const uint8_t *gather(struct http1_client *self, size_t max, size_t *len)
{
	struct gate *gate = self->http->flow->gate;

	if (max > sizeof(gate->scratch))
		max = sizeof(gate->scratch);
	return end_gather(end_of(self), gate->scratch, max, len);
}

static void client_request(struct http_client *base, struct http_request *out)
{
	struct http1_client *self = client_of(base);
	struct http_problem problem;
	size_t len;
	const uint8_t *bytes = gather(self, self->head_len, &len);

	/* It was parsed before, or we would not be asked. */
	(void)http1_request_parse(bytes, len, out, &problem);
}

static void client_accept(struct http_client *base)
{
	struct http1_client *self = client_of(base);
	struct http_request request;

	client_request(base, &request);
	http1_body_init(&self->body, &request.body);
	end_take(end_of(self), self->head_len);
	self->head_len = 0;
	self->state = HTTP1_CLIENT_BODY;
}

static bool client_takes_head(const struct http_client *base)
{
	return end_space(end_of(client_of(base))) >= HTTP1_ENCODED_MAX;
}

static size_t client_space(const struct http_client *base)
{
	const struct http1_client *self = client_of(base);

	return http1_sink_space(end_of(self), self->chunked);
}

/* A length that only the end of the connection told gets a better form. */
static void choose_framing(struct http1_client *self,
			   struct http_response *response)
{
	struct http_body *body = &response->body;

	if (self->minor > 0 && body->kind == HTTP_BODY_UNTIL_CLOSE)
		body->kind = HTTP_BODY_CHUNKED;
	else if (self->minor == 0 && body->kind == HTTP_BODY_CHUNKED)
		body->kind = HTTP_BODY_UNTIL_CLOSE;
	if (body->kind == HTTP_BODY_UNTIL_CLOSE)
		self->keep = false;
	self->chunked = body->kind == HTTP_BODY_CHUNKED;
}

static void client_head(struct http_client *base,
			struct http_response *response)
{
	struct http1_client *self = client_of(base);
	struct gate *gate = self->http->flow->gate;
	unsigned flags = 0;
	int len;

	if (response->is_interim && self->minor == 0)
		return;
	if (response->is_tunnel) {
		flags = HTTP1_UPGRADE;
	} else if (!response->is_interim) {
		/* Answered before its body was read: that would be next. */
		if (self->state == HTTP1_CLIENT_HELD && self->has_body)
			self->keep = false;
		choose_framing(self, response);
		if (!self->keep)
			flags = HTTP1_CLOSE;
		else if (self->minor == 0)
			flags = HTTP1_KEEP_ALIVE;
	}
	len = http1_response_encode(response, flags, gate->encoded,
				    sizeof(gate->encoded));
	if (len > 0)
		end_write(end_of(self), gate->encoded, (size_t)len);
}

static void client_body(struct http_client *base, const void *bytes, size_t len)
{
	struct http1_client *self = client_of(base);

	http1_sink_body(end_of(self), self->chunked, bytes, len);
}

static void client_end(struct http_client *base,
		       const struct http_fields *trailers)
{
	struct http1_client *self = client_of(base);

	http1_sink_end(end_of(self), self->chunked, trailers);
	self->chunked = false;
}

/* What is left of a request that was answered early cannot be told apart
 * from the next one. */
static void client_next(struct http_client *base)
{
	struct http1_client *self = client_of(base);
	bool whole = self->state == HTTP1_CLIENT_WAIT;

	if (self->state == HTTP1_CLIENT_HELD) {
		client_accept(base);
		whole = self->body.kind == HTTP_BODY_NONE;
	}
	self->scanned = 0;
	if (self->keep && whole) {
		self->state = HTTP1_CLIENT_HEAD;
		return;
	}
	self->state = HTTP1_CLIENT_LAST;
}

static void client_reset(struct http_client *base, int code)
{
	flow_close(client_of(base)->http->flow,
		   code == EAGAIN ? ECONNRESET : code);
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

void http1_client_init(struct http1_client *client, struct http *http)
{
	*client = (struct http1_client){ .base = { .ops = &client_ops },
					 .http = http };
	exchange_init(&client->exchange, http, http->flow, &client->base);
}

void http1_client_release(struct http1_client *client)
{
	exchange_release(&client->exchange);
}

static void refuse(struct http1_client *self,
		   const struct http_problem *problem)
{
	self->keep = false;
	exchange_refuse(&self->exchange,
			&(struct exchange_refusal){ problem->status, AUDIT_DENY,
						    problem->text, NULL });
}

/* There is a part of a head, or nothing at all. */
static void wait_for_head(struct http1_client *self, size_t len)
{
	struct flow *flow = self->http->flow;

	if (end_of(self)->eof)
		self->state = HTTP1_CLIENT_LAST;
	else if (len && list_empty(&flow->deadline.link))
		deadline_start(&flow->gate->peek, &flow->deadline);
}

/* False: nothing more can be done now. */
static bool read_head(struct http1_client *self)
{
	struct http_request request;
	struct http_problem problem;
	const uint8_t *bytes;
	size_t len;
	int head;

	end_fill(end_of(self));
	bytes = gather(self, SIZE_MAX, &len);
	head = http1_head_length(bytes, len, &self->scanned, &problem);
	/* Our own answers must fit, however little the client reads. */
	if (end_space(end_of(self)) < HTTP1_ENCODED_MAX)
		return false;
	if (head == 0) {
		wait_for_head(self, len);
		return self->state == HTTP1_CLIENT_LAST;
	}
	deadline_stop(&self->http->flow->deadline);
	self->minor = 1;
	if (head < 0 ||
	    http1_request_parse(bytes, (size_t)head, &request, &problem) < 0) {
		refuse(self, &problem);
		return true;
	}
	self->head_len = (size_t)head;
	self->minor = request.minor;
	self->keep = request.keep_alive;
	self->has_body = request.body.kind != HTTP_BODY_NONE;
	self->state = HTTP1_CLIENT_HELD;
	exchange_begin(&self->exchange);
	return true;
}

static void end_body(struct http1_client *self, const struct span *text)
{
	struct exchange *exchange = &self->exchange;
	struct http_fields trailers;
	struct http_problem problem;

	if (text->len && http1_trailers_parse(text->bytes, text->len, &trailers,
					      &problem) < 0) {
		refuse(self, &problem);
		return;
	}
	if (exchange_request_end(exchange, text->len ? &trailers : NULL))
		self->state = HTTP1_CLIENT_WAIT;
}

static bool cut(struct http1_client *self)
{
	http_log_end(self->http, "the client cut its request");
	flow_close(self->http->flow, ECONNRESET);
	return false;
}

static bool read_body(struct http1_client *self)
{
	struct exchange *exchange = &self->exchange;
	size_t room = exchange_request_space(exchange), len;
	struct http1_piece piece = { 0 };
	enum http1_body_result result;
	const uint8_t *bytes;

	if (!room)
		return false;
	end_fill(end_of(self));
	bytes = gather(self, room, &len);
	result = http1_body_read(&self->body, bytes, len, &piece);
	if (piece.content.len)
		exchange_request_body(exchange, piece.content.bytes,
				      piece.content.len);
	if (result == HTTP1_BODY_BAD) {
		refuse(self, &(struct http_problem){ 400, piece.problem });
		return !self->http->over;
	}
	if (result == HTTP1_BODY_DONE)
		end_body(self, &piece.trailers);
	if (self->http->over)
		return false;
	end_take(end_of(self), piece.taken);
	if (result == HTTP1_BODY_MORE && !piece.taken)
		return end_of(self)->eof ? cut(self) : false;
	return true;
}

void http1_client_run(struct http1_client *client)
{
	bool more = true;

	while (more && !client->http->over) {
		switch (client->state) {
		case HTTP1_CLIENT_HEAD:
			more = read_head(client);
			break;
		case HTTP1_CLIENT_BODY:
			more = read_body(client);
			break;
		case HTTP1_CLIENT_LAST:
			flow_linger(client->http->flow);
			return;
		default:
			return;
		}
	}
}
