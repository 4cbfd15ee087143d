/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew_talk.c - the host asks a token endpoint for new tokens
 */
#include "net/renew_talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/gate.h"
#include "net/logins.h"
#include "net/target.h"
#include "wire/http1_body.h"
#include "wire/http1_head.h"

#define REQUEST_MAX ((size_t)32 * 1024)

struct renew_talk {
	struct gate *gate;
	renew_talk_fn *fn;
	void *ctx;
	struct connecting *connecting; /* owned; NULL: it is made */
	struct end *end;               /* owned */
	struct buffer request;         /* wiped */
	bool begun;                    /* the head of an answer came */
	size_t scanned;
	struct http1_body body;
	struct buffer response; /* wiped */
	struct renew_answer answer;
};

static void wipe(struct buffer *buffer)
{
	secret_wipe(buffer->data, buffer->len);
	buffer_release(buffer);
}

void renew_talk_cancel(struct renew_talk *talk)
{
	if (!talk)
		return;
	connect_cancel(TAKE_PTR(talk->connecting));
	end_close(TAKE_PTR(talk->end), 0);
	wipe(&talk->request);
	wipe(&talk->response);
	loop_defer_free(talk->gate->loop, talk);
}

static void finish(struct renew_talk *self, const char *problem)
{
	self->answer.problem = problem;
	self->answer.body = span_over((const char *)self->response.data,
				      self->response.len);
	self->fn(self->ctx, &self->answer);
}

static int write_request(struct buffer *out, const struct login *login,
			 const struct target *target)
{
	const struct login_renew *renew = &login->renew;
	const struct secret *token = login_token(login, LOGIN_REFRESH)->value;
	size_t size = strlen(renew->before) + secret_len(token) +
		      strlen(renew->after);
	char host[AUTHORITY_TEXT_SIZE];

	target_format(target, host);
	if (buffer_printf(out,
			  "POST %s HTTP/1.1\r\nHost: %s\r\n"
			  "Content-Type: application/%s\r\n"
			  "Accept: application/json\r\n"
			  "Accept-Encoding: identity\r\nUser-Agent: bawn\r\n"
			  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			  renew->path, host,
			  renew->form ? "x-www-form-urlencoded" : "json",
			  size) < 0 ||
	    buffer_append(out, renew->before, strlen(renew->before)) < 0 ||
	    buffer_append(out, secret_text(token), secret_len(token)) < 0)
		return -1;
	return buffer_append(out, renew->after, strlen(renew->after));
}

static void take_head(struct renew_talk *self,
		      const struct http_response *response)
{
	const struct http_field *type =
		http_fields_find(&response->fields, "content-type", NULL);

	self->begun = !response->is_interim;
	self->scanned = 0;
	self->answer.status = response->status;
	self->answer.kind =
		type ? token_body_kind(type->value) : TOKEN_BODY_OTHER;
	http1_body_init(&self->body, &response->body);
}

/* 1: there may be more to do; 0: not now; -1 and why: it makes no sense. */
static int read_head(struct renew_talk *self, const char **why)
{
	struct gate *gate = self->gate;
	struct http_response response;
	struct http_problem problem;
	size_t len;
	const uint8_t *bytes = end_gather(self->end, gate->scratch,
					  sizeof(gate->scratch), &len);
	int head = http1_head_length(bytes, len, &self->scanned, &problem);

	if (head == 0)
		return 0;
	if (head < 0 ||
	    http1_response_parse(bytes, (size_t)head, HTTP_METHOD_OTHER,
				 &response, &problem) < 0 ||
	    response.is_tunnel) {
		*why = "the token endpoint answers with no HTTP";
		return -1;
	}
	take_head(self, &response);
	end_take(self->end, (size_t)head);
	return 1;
}

static int read_body(struct renew_talk *self, const char **why)
{
	struct gate *gate = self->gate;
	struct http1_piece piece = { 0 };
	size_t len;
	const uint8_t *bytes = end_gather(self->end, gate->scratch,
					  sizeof(gate->scratch), &len);
	enum http1_body_result result =
		http1_body_read(&self->body, bytes, len, &piece);
	bool too_long = piece.content.len &&
			buffer_append(&self->response, piece.content.bytes,
				      piece.content.len) < 0;

	if (result == HTTP1_BODY_BAD || too_long) {
		*why = "the token endpoint's answer cannot be read";
		return -1;
	}
	end_take(self->end, piece.taken);
	if (result == HTTP1_BODY_DONE) {
		*why = NULL;
		return -1;
	}
	return result == HTTP1_BODY_CONTENT || piece.taken;
}

static void on_end(struct end *end)
{
	struct renew_talk *self = end->owner;
	const char *why = NULL;
	int more = 1;

	end_fill(end);
	while (more > 0)
		more = self->begun ? read_body(self, &why)
				   : read_head(self, &why);
	if (more < 0) {
		finish(self, why);
		return;
	}
	if (!end->error && !end->eof)
		return;
	if (self->begun && !end->error && http1_body_end(&self->body) == 0)
		finish(self, NULL);
	else
		finish(self, "the token endpoint cut its answer");
}

static void on_connected(void *ctx, const struct connected *result)
{
	struct renew_talk *self = ctx;

	self->connecting = NULL;
	self->answer.address = result->address;
	free(result->login);
	if (!result->end) {
		finish(self, result->reason);
		return;
	}
	self->end = result->end;
	self->end->owner = self;
	self->end->on_event = on_end;
	/* connect.h says so already; a token is worth a second look. */
	if (!self->end->verified || result->absolute ||
	    end_write(self->end, self->request.data, self->request.len) !=
		    self->request.len) {
		finish(self, "the token endpoint did not prove its name");
		return;
	}
	wipe(&self->request);
}

struct renew_talk *renew_talk_start(struct gate *gate,
				    const struct login *login,
				    const struct target *target,
				    const struct decision *decision,
				    renew_talk_fn *fn, void *ctx)
{
	struct renew_talk *self = xcalloc(1, sizeof(*self));

	*self = (struct renew_talk){ .gate = gate,
				     .fn = fn,
				     .ctx = ctx,
				     .request = BUFFER_INIT(REQUEST_MAX),
				     .response = BUFFER_INIT(TOKEN_BODY_MAX) };
	if (write_request(&self->request, login, target) == 0)
		self->connecting =
			connect_start(gate, target, decision, CONNECT_HTTPS_1,
				      on_connected, self);
	if (self->connecting)
		return self;
	renew_talk_cancel(self);
	return NULL;
}
