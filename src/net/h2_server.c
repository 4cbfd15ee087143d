/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_server.c - requests to an HTTP/2 server, and its responses
 */
#include "net/h2_server.h"

#include <errno.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "net/end.h"
#include "net/exchange_layer.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/h2_stream.h"
#include "net/http.h"

struct h2_response {
	struct http_server base;
	struct h2_server *server;
	struct h2_stream stream;
	bool begun; /* the final head was passed on */
};

static struct h2_response *response_of(const struct http_server *base)
{
	return CONTAINER_OF(base, struct h2_response, base);
}

static struct h2_response *response_of_node(struct list *node)
{
	return CONTAINER_OF(LIST_ENTRY(node, struct h2_stream, link),
			    struct h2_response, stream);
}

static void free_response(struct h2_response *self)
{
	h2_stream_release(&self->stream, NGHTTP2_CANCEL);
	loop_defer_free(self->server->http->flow->gate->loop, self);
}

static bool has_body(const struct http_body *body)
{
	return body->kind != HTTP_BODY_NONE &&
	       !(body->kind == HTTP_BODY_LENGTH && !body->length);
}

static int submit(struct h2_response *self, const struct http_request *request,
		  const struct http2_block *block)
{
	struct h2_stream *stream = &self->stream;
	nghttp2_nv fields[H2_FIELDS_MAX];
	size_t count = h2_stream_fields(block, fields);
	bool has_secret = self->base.exchange->secrets.injection.used_count > 0;
	int32_t id;

	/* A secret must stay out of tables that outlive the request. */
	for (size_t i = 0; has_secret && i < count; i++)
		fields[i].flags |= NGHTTP2_NV_FLAG_NO_INDEX;
	id = nghttp2_submit_request(
		self->server->session.library, NULL, fields, count,
		has_body(&request->body) ? &h2_stream_provider : NULL, stream);
	if (id < 0)
		return -1;
	stream->id = id;
	return 0;
}

static int server_head(struct http_server *base, struct http_request *request,
		       bool upgrade)
{
	struct h2_response *self = response_of(base);
	struct http2_block block;
	int result = -1;

	http2_block_init_large(&block);
	if (!upgrade && http2_request_encode(request, &block) == 0)
		result = submit(self, request, &block);
	secret_wipe(block.bytes.data, block.bytes.len);
	http2_block_release(&block);
	return result;
}

static size_t server_space(const struct http_server *base)
{
	return h2_stream_space(&response_of(base)->stream);
}

static void server_body(struct http_server *base, const void *bytes, size_t len)
{
	h2_stream_write(&response_of(base)->stream, bytes, len);
}

static void server_end(struct http_server *base,
		       const struct http_fields *trailers)
{
	h2_stream_finish(&response_of(base)->stream, trailers);
}

static void server_leave(struct http_server *base)
{
	free_response(response_of(base));
}

static const struct http_server_ops server_ops = {
	.head = server_head,
	.space = server_space,
	.body = server_body,
	.end = server_end,
	.leave = server_leave,
};

struct h2_server *h2_server_new(struct http *http, struct end *end)
{
	struct h2_server *server = xcalloc(1, sizeof(*server));

	server->http = http;
	server->end = end;
	h2_session_init(&server->session, http, end, NULL);
	return server;
}

void h2_server_free(struct h2_server *server)
{
	if (!server)
		return;
	LIST_FOR_EACH(node, &server->session.streams)
		free_response(response_of_node(node));
	h2_session_release(&server->session);
	end_close(server->end, 0);
	loop_defer_free(server->http->flow->gate->loop, server);
}

static bool is_cut(const struct h2_server *self)
{
	return self->session.broke || self->end->error ||
	       (self->end->eof && !end_available(self->end));
}

bool h2_server_is_good(const struct h2_server *server)
{
	return !is_cut(server) && !server->session.refused &&
	       nghttp2_session_check_request_allowed(server->session.library);
}

bool h2_server_is_over(const struct h2_server *server)
{
	return !server->session.count && !h2_server_is_good(server);
}

static uint32_t most_streams(const struct h2_server *self)
{
	uint32_t most = nghttp2_session_get_remote_settings(
		self->session.library, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	return most < LIMIT_H2_STREAMS ? most : LIMIT_H2_STREAMS;
}

struct http_server *h2_server_open(struct h2_server *server)
{
	struct h2_response *self;

	if (!h2_server_is_good(server) ||
	    server->session.count >= most_streams(server))
		return NULL;
	self = xcalloc(1, sizeof(*self));
	self->base = (struct http_server){ .ops = &server_ops,
					   .verified = server->end->verified,
					   .address = server->address,
					   .by_proxy = server->by_proxy };
	self->server = server;
	h2_stream_init(&self->stream, &server->session, LIMIT_H2_SERVER_WINDOW);
	return &self->base;
}

static void fail(struct h2_response *self, const char *reason)
{
	struct exchange *exchange = self->base.exchange;
	bool untouched = self->stream.error == NGHTTP2_REFUSED_STREAM ||
			 (self->server->reused && exchange_is_safe(exchange));

	if (untouched && !self->begun && !self->stream.block_count)
		exchange_reset(exchange, AUDIT_ALLOW, reason, EAGAIN);
	else
		exchange_refuse(exchange,
				&(struct exchange_refusal){ 502, AUDIT_ALLOW,
							    reason, NULL });
}

/* False: nothing more can be done now, or the stream is gone. */
static bool pass_head(struct h2_response *self)
{
	struct exchange *exchange = self->base.exchange;
	struct h2_stream *stream = &self->stream;
	struct http_response response;
	struct http_problem problem;
	bool is_last = stream->has_head &&
		       stream->block_count == 1u + stream->has_trailers;

	if (!stream->block_count ||
	    !exchange->client->ops->takes_head(exchange->client))
		return false;
	if (http2_response_parse(
		    &stream->blocks[0], exchange_layer_method(exchange),
		    is_last && stream->ends_at_head, &response, &problem) < 0) {
		fail(self, problem.text);
		return false;
	}
	problem.text = exchange_check_response(exchange, &response);
	if (problem.text) {
		fail(self, problem.text);
		return false;
	}
	if (!response.is_interim) {
		self->begun = true;
		h2_stream_expect(stream, &response.body);
	}
	exchange_response_head(exchange, &response);
	h2_stream_next_block(stream);
	return true;
}

static void end_body(struct h2_response *self)
{
	struct exchange *exchange = self->base.exchange;
	struct h2_stream *stream = &self->stream;
	struct http_fields trailers;
	struct http_problem problem;

	if (stream->has_trailers &&
	    http2_trailers_parse(&stream->blocks[0], &trailers, &problem) < 0) {
		fail(self, problem.text);
		return;
	}
	self->server->reused = true;
	exchange_response_end(exchange,
			      stream->has_trailers ? &trailers : NULL);
	free_response(self);
}

static bool pass_body(struct h2_response *self)
{
	struct exchange *exchange = self->base.exchange;
	size_t room = exchange_response_space(exchange);
	struct span bytes;

	if (!room)
		return false;
	switch (h2_stream_read(&self->stream, room, &bytes)) {
	case H2_STREAM_BYTES:
		exchange_response_body(exchange, bytes.bytes, bytes.len);
		h2_stream_take(&self->stream, bytes.len);
		return true;
	case H2_STREAM_END:
		end_body(self);
		return false;
	case H2_STREAM_BAD:
		fail(self, "a body other than Content-Length");
		return false;
	default:
		return false;
	}
}

static const char *why_cut(const struct h2_server *self)
{
	if (self->session.broke)
		return self->session.broke;
	return "the server closed before it answered";
}

/* What came before the end is passed on first. */
static void serve(struct h2_response *self)
{
	struct h2_stream *stream = &self->stream;
	bool more = true;

	while (more && !self->server->http->over && self->base.exchange)
		more = self->begun ? pass_body(self) : pass_head(self);
	if (self->server->http->over || !self->base.exchange)
		return;
	if (self->begun ? stream->in.len || stream->in_end
			: stream->block_count > 0)
		return; /* the client has no room */
	if (stream->closed)
		fail(self, "the server reset the request");
	else if (is_cut(self->server))
		fail(self, why_cut(self->server));
}

void h2_server_run(struct h2_server *server)
{
	h2_session_receive(&server->session);
	LIST_FOR_EACH(node, &server->session.streams) {
		serve(response_of_node(node));
		if (server->http->over)
			return;
	}
	h2_session_send(&server->session);
}

void h2_server_revoke(struct h2_server *server)
{
	LIST_FOR_EACH(node, &server->session.streams) {
		exchange_reset(response_of_node(node)->base.exchange,
			       AUDIT_DENY, "revoked", ECONNREFUSED);
		if (server->http->over)
			return;
	}
}
