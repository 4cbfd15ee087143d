/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_login.c - one request to a token endpoint, and its answer
 */
#include "net/exchange_login.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "net/bindings.h"
#include "net/exchange.h"
#include "net/exchange_layer.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/keys.h"
#include "net/login_answer.h"
#include "net/logins.h"
#include "policy/policy.h"
#include "wire/url_path.h"

/* Room for chunk heads, as in exchange_secrets.c. */
#define RESERVED 64

AUTO_DEFINE(json, json_t *, json_decref)

struct exchange_login {
	struct bindings *bindings; /* owned reference */
	const struct login *login; /* in them */
	enum token_body_kind asked, answered;
	struct buffer request, response; /* wiped */
	bool succeeded;                  /* the answer may hold tokens */
	bool passes;                     /* the request is too long to hold */
	bool too_long;                   /* the answer is */
	bool renews;                     /* our refresh token was put in */
	bool exact;                      /* spelled as the service says */
};

static const char unreadable[] = "the answer to a login cannot be read";

static enum token_body_kind kind_of(const struct http_fields *fields)
{
	const struct http_field *type =
		http_fields_find(fields, "content-type", NULL);

	return type ? token_body_kind(type->value) : TOKEN_BODY_OTHER;
}

/* The same gates as for a secret (inject_may()), but any spelling of the path
 * that a server may understand: the answer counts. */
static const struct login *login_for(const struct inject_facts *facts,
				     const struct bindings *bindings,
				     bool *exact)
{
	const struct login *login;
	const struct policy_request request = {
		.name = facts->target->name,
		.port = facts->target->port,
		.method = facts->method,
		.path = facts->path,
	};

	if (!facts->target->name || facts->target->is_host || facts->bypassed ||
	    !facts->encrypted || !facts->verified || !facts->names_agree)
		return NULL;
	login = bindings_login(bindings, &request);
	*exact = login && facts->path && login_has_request(login, &request);
	return login;
}

static bool join(struct exchange *exchange)
{
	char path[URL_PATH_MAX + 1];
	const struct policy_request request = {
		.name = exchange->target.name,
		.port = exchange->target.port,
		.method = exchange->method,
		.path = path,
	};

	return url_path_normalise(exchange->path, strlen(exchange->path),
				  path) >= 0 &&
	       renew_join(&exchange->flow->gate->renewals, &request,
			  &exchange->renewing);
}

/* Most have no login: no room for a path is made for them. */
bool exchange_login_wait(struct exchange *exchange)
{
	const struct target *target = &exchange->target;

	return renew_concerns(exchange->flow->gate) && target->name &&
	       !target->is_host && !exchange->decision.bypass &&
	       exchange->flow->protocol == AUDIT_HTTPS && join(exchange);
}

void exchange_login_on_ready(struct renew_waiter *waiter)
{
	struct exchange *exchange =
		CONTAINER_OF(waiter, struct exchange, renewing);
	struct http *http = exchange->http;

	exchange_layer_find(exchange);
	http_run(http);
}

void exchange_login_begin(struct exchange *exchange,
			  const struct http_server *server,
			  struct http_request *request)
{
	struct gate *gate = exchange->flow->gate;
	char path[URL_PATH_MAX + 1];
	struct inject_facts facts;
	const struct login *login;
	bool exact = false;

	if (!gate->bindings || !gate->bindings->login_count)
		return;
	exchange_secrets_facts(exchange, server, request, path, &facts);
	login = login_for(&facts, gate->bindings, &exact);
	if (!login)
		return;
	exchange->login = xcalloc(1, sizeof(*exchange->login));
	*exchange->login = (struct exchange_login){
		.bindings = bindings_ref(gate->bindings),
		.login = login,
		.exact = exact,
		.asked = kind_of(&request->fields),
		.request = BUFFER_INIT(TOKEN_BODY_MAX),
		.response = BUFFER_INIT(TOKEN_BODY_MAX),
	};
	for (size_t i = 0; i < login->count; i++)
		(void)mask_add(&exchange->secrets.mask, login->tokens[i].forms);
	/* A part, or a compressed answer, could not be read. */
	http_fields_remove(&request->fields, "range");
	http_fields_remove(&request->fields, "accept-encoding");
	(void)http_fields_add(&request->fields, span_of("accept-encoding"),
			      span_of("identity"));
}

static void wipe(struct buffer *buffer)
{
	secret_wipe(buffer->data, buffer->len);
	buffer_release(buffer);
}

void exchange_login_release(struct exchange *exchange)
{
	struct exchange_login *self = TAKE_PTR(exchange->login);

	if (!self)
		return;
	wipe(&self->request);
	wipe(&self->response);
	/* The mask points into them. */
	mask_release(&exchange->secrets.mask);
	mask_init(&exchange->secrets.mask);
	bindings_unref(self->bindings);
	free(self);
}

bool exchange_login_hold_request(struct exchange *exchange, const void *bytes,
				 size_t len)
{
	struct exchange_login *self = exchange->login;

	if (!self || self->passes)
		return false;
	if (buffer_append(&self->request, bytes, len) == 0)
		return true;
	/* No request for tokens is that long: none is put in. */
	self->passes = true;
	exchange->server->ops->body(exchange->server, self->request.data,
				    self->request.len);
	wipe(&self->request);
	return false;
}

/* value lies in the body. One of another length is another's by now. */
static bool put_token(const struct login *login, struct span value)
{
	for (size_t i = 0; i < login->count; i++) {
		const struct login_token *token = &login->tokens[i];

		if (!span_is(value, token->placeholder) ||
		    secret_len(token->value) != value.len)
			continue;
		memcpy((char *)value.bytes, secret_text(token->value),
		       value.len);
		return true;
	}
	return false;
}

void exchange_login_send(struct exchange *exchange)
{
	/*
	 * To renew, and to revoke (RFC 7009). Not to exchange (RFC 8693): what
	 * comes of that is a key of another kind, which outlives the login.
	 */
	static const char *const names[] = { LOGIN_REFRESH, "token" };
	struct exchange_login *self = exchange->login;
	struct span body, value;

	if (!self || self->passes || !self->request.len)
		return;
	body = span_over((const char *)self->request.data, self->request.len);
	for (size_t i = 0; self->exact && i < ARRAY_SIZE(names); i++) {
		if (token_body_find(self->asked, body, names[i], &value) == 0 &&
		    value.len && put_token(self->login, value) && !i)
			self->renews = true;
	}
	exchange->server->ops->body(exchange->server, self->request.data,
				    self->request.len);
	wipe(&self->request);
}

const char *exchange_login_check(const struct exchange *exchange,
				 const struct http_response *response)
{
	const struct http_field *coding = NULL;

	if (!exchange->login || response->is_interim)
		return NULL;
	if (response->is_tunnel)
		return unreadable;
	while ((coding = http_fields_find(&response->fields, "content-encoding",
					  coding))) {
		if (!span_matches_text(coding->value, "identity") &&
		    coding->value.len)
			return unreadable;
	}
	return NULL;
}

void exchange_login_head(struct exchange *exchange,
			 const struct http_response *response)
{
	const struct injection *injection = &exchange->secrets.injection;
	struct exchange_login *self = exchange->login;

	/* The next request has another one, perhaps. */
	for (size_t i = 0; response->status == 401 && i < injection->used_count;
	     i++)
		renew_rejected(&exchange->flow->gate->renewals,
			       injection->used[i]);
	if (!self || response->is_interim)
		return;
	self->succeeded = response->status >= 200 && response->status < 300;
	self->answered = kind_of(&response->fields);
}

bool exchange_login_hold_response(struct exchange *exchange, const void *bytes,
				  size_t len)
{
	struct exchange_login *self = exchange->login;

	if (!self || !self->succeeded)
		return false;
	if (self->too_long || buffer_append(&self->response, bytes, len) < 0)
		self->too_long = true;
	return true;
}

static const char *take_tokens(struct exchange *exchange)
{
	struct exchange_login *self = exchange->login;
	struct span body = span_over((const char *)self->response.data,
				     self->response.len);
	struct login_answer answer;
	const char *problem = login_answer_take(
		self->login, self->renews ? LOGIN_RENEWED : LOGIN_MADE,
		self->answered, body, &answer);
	AUTO(json) json_t *tokens = answer.tokens;
	const struct keys_tokens what = {
		.service = self->login->name,
		.list = tokens,
		.expires = answer.expires,
		.renewed = self->renews,
		.scope = answer.scope,
	};

	if (problem || !json_array_size(tokens))
		return problem;
	return keys_keep_tokens(&exchange->flow->gate->keys, &what) < 0
		       ? "the tokens of a login could not be kept"
		       : NULL;
}

const char *exchange_login_answer(struct exchange *exchange)
{
	struct exchange_login *self = exchange->login;
	const char *problem;

	if (!self || !self->succeeded)
		return NULL;
	if (self->too_long)
		return unreadable;
	if (!self->response.len)
		return NULL;
	problem = take_tokens(exchange);
	if (!problem)
		exchange_secrets_body(exchange, self->response.data,
				      self->response.len);
	wipe(&self->response);
	return problem;
}

static size_t less(size_t space, size_t held)
{
	return space > held + RESERVED ? space - held - RESERVED : 0;
}

size_t exchange_login_request_space(const struct exchange *exchange,
				    size_t space)
{
	const struct exchange_login *self = exchange->login;

	return self ? less(space, self->request.len) : space;
}

size_t exchange_login_response_space(const struct exchange *exchange,
				     size_t space)
{
	const struct exchange_login *self = exchange->login;

	return self ? less(space, self->response.len) : space;
}
