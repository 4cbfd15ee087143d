/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_secrets.c - what secrets have to do with one request
 */
#include "net/exchange_secrets.h"

#include <string.h>

#include "base/secret.h"
#include "net/bindings.h"
#include "net/exchange.h"
#include "net/flow.h"
#include "net/gate.h"
#include "wire/url_path.h"

/* Room for chunk heads when a body passes in several pieces. */
#define RESERVED 64

void exchange_secrets_release(struct exchange_secrets *secrets)
{
	mask_release(&secrets->mask);
	buffer_release(&secrets->question);
	bindings_unref(secrets->bindings);
	*secrets = (struct exchange_secrets){ .bindings = NULL };
}

bool exchange_secrets_bound(const struct exchange *exchange)
{
	const struct target *target = &exchange->target;

	return target->name && !target->is_host && !exchange->decision.bypass &&
	       bindings_have_host(exchange->flow->gate->bindings, target->name,
				  target->port);
}

void exchange_secrets_facts(const struct exchange *exchange,
			    const struct http_server *server,
			    const struct http_request *request, char *path,
			    struct inject_facts *out)
{
	const struct flow *flow = exchange->flow;
	const bool secure = flow->protocol == AUDIT_HTTPS;
	int len = url_path_normalise(exchange->path, strlen(exchange->path),
				     path);

	*out = (struct inject_facts){
		.target = &exchange->target,
		.encrypted = secure,
		.verified = server->verified,
		.names_agree =
			(!secure || flow->named) && request->has_authority &&
			target_is_called(&exchange->target, &request->authority,
					 secure ? 443 : 80),
		.bypassed = exchange->decision.bypass,
		.method = exchange->method,
		.path = len < 0 ? NULL : path,
	};
}

/* Every secret of the host, also those that this request did not get. */
static void prepare_mask(struct exchange *exchange)
{
	struct exchange_secrets *secrets = &exchange->secrets;
	const struct target *target = &exchange->target;

	for (size_t i = 0; i < secrets->bindings->count; i++) {
		const struct binding *one = &secrets->bindings->list[i];

		if (one->forms &&
		    binding_has_host(one, target->name, target->port))
			(void)mask_add(&secrets->mask, one->forms);
	}
}

const char *exchange_secrets_put(struct exchange *exchange,
				 const struct http_server *server,
				 struct http_request *request)
{
	struct gate *gate = exchange->flow->gate;
	struct exchange_secrets *secrets = &exchange->secrets;
	struct inject_facts facts;
	char path[URL_PATH_MAX + 1];

	if (!exchange_secrets_bound(exchange))
		return NULL;
	exchange_secrets_release(secrets);
	secrets->bindings = bindings_ref(gate->bindings);
	secrets->question = (struct buffer)BUFFER_INIT(BINDING_QUESTION_MAX);
	exchange_secrets_facts(exchange, server, request, path, &facts);
	if (inject_request(secrets->bindings, &facts, request,
			   gate->secret_arena, &secrets->injection) < 0)
		return "head too long";
	prepare_mask(exchange);
	if (secrets->mask.count == MASK_FORMS_MAX)
		return "too many secrets for one host";
	if (secrets->injection.missing)
		return secrets->injection.missing->why
			       ? secrets->injection.missing->why
			       : "the secret for this host is not there yet";
	return NULL;
}

bool exchange_secrets_hold(struct exchange *exchange, const void *bytes,
			   size_t len)
{
	struct exchange_secrets *self = &exchange->secrets;

	if (!self->injection.question)
		return false;
	if (buffer_append(&self->question, bytes, len) < 0)
		self->too_long = true;
	return true;
}

const char *exchange_secrets_ask(struct exchange *exchange)
{
	struct exchange_secrets *self = &exchange->secrets;
	char path[URL_PATH_MAX + 1];
	struct span body = span_over((const char *)self->question.data,
				     self->question.len);

	if (!self->injection.question)
		return NULL;
	if (self->too_long ||
	    url_path_normalise(exchange->path, strlen(exchange->path), path) <
		    0 ||
	    !inject_is_question(self->injection.question, path, body))
		return "the secret for this host is not for this question";
	exchange->server->ops->body(exchange->server, body.bytes, body.len);
	return NULL;
}

void exchange_secrets_wipe(struct exchange *exchange)
{
	struct gate *gate = exchange->flow->gate;

	if (!exchange->secrets.injection.arena_used)
		return;
	/* All of both would be most of what a small request costs. */
	secret_wipe(gate->secret_arena, exchange->secrets.injection.arena_used);
	secret_wipe(gate->encoded, gate->encoded_len);
}

const char *exchange_secrets_check(const struct exchange *exchange,
				   const struct http_response *response)
{
	const struct http_field *coding = NULL;

	if (!exchange->secrets.mask.count || response->is_interim)
		return NULL;
	/* None was offered: we could not read its frames. */
	if (response->is_tunnel)
		return http_fields_find(&response->fields,
					"sec-websocket-extensions", NULL)
			       ? "the server uses a WebSocket extension unasked"
			       : NULL;
	if (response->body.kind == HTTP_BODY_NONE)
		return NULL;
	while ((coding = http_fields_find(&response->fields, "content-encoding",
					  coding))) {
		if (!span_matches_text(coding->value, "identity") &&
		    coding->value.len)
			return "the response is compressed and cannot be "
			       "searched for a secret";
	}
	return NULL;
}

/* In place of texts of others: a copy, in memory that lasts this round. */
static void mask_span(struct exchange *exchange, struct span *text,
		      size_t *used)
{
	struct gate *gate = exchange->flow->gate;
	char *copy = (char *)gate->masked + *used;

	if (!mask_finds(&exchange->secrets.mask, *text))
		return;
	/* It came in one head, and that fits. */
	if (text->len > sizeof(gate->masked) - *used) {
		text->len = 0;
		return;
	}
	memcpy(copy, text->bytes, text->len);
	mask_text(&exchange->secrets.mask, copy, text->len);
	*text = span_over(copy, text->len);
	*used += text->len;
}

static void mask_fields(struct exchange *exchange, struct http_fields *fields,
			size_t *used)
{
	for (size_t i = 0; i < fields->count; i++) {
		mask_span(exchange, &fields->list[i].name, used);
		mask_span(exchange, &fields->list[i].value, used);
	}
}

void exchange_secrets_mask_head(struct exchange *exchange,
				struct http_response *response)
{
	size_t used = 0;

	if (!exchange->secrets.mask.count)
		return;
	mask_span(exchange, &response->reason, &used);
	mask_fields(exchange, &response->fields, &used);
}

const struct http_fields *
exchange_secrets_trailers(struct exchange *exchange,
			  const struct http_fields *trailers)
{
	static struct http_fields masked;
	size_t used = 0;

	if (!exchange->secrets.mask.count || !trailers)
		return trailers;
	masked = *trailers;
	mask_fields(exchange, &masked, &used);
	return &masked;
}

void exchange_secrets_body(struct exchange *exchange, const void *bytes,
			   size_t len)
{
	struct gate *gate = exchange->flow->gate;
	struct mask *mask = &exchange->secrets.mask;
	const uint8_t *at = bytes;

	if (!mask->count) {
		exchange->client->ops->body(exchange->client, bytes, len);
		return;
	}
	while (len) {
		size_t room = sizeof(gate->masked) - mask->held_len;
		size_t n = len < room ? len : room;
		size_t ready = mask_feed(mask, at, n, gate->masked);

		if (ready)
			exchange->client->ops->body(exchange->client,
						    gate->masked, ready);
		at += n;
		len -= n;
	}
}

void exchange_secrets_last(struct exchange *exchange)
{
	struct gate *gate = exchange->flow->gate;
	struct mask *mask = &exchange->secrets.mask;
	size_t len = mask->count ? mask_end(mask, gate->masked) : 0;

	if (len)
		exchange->client->ops->body(exchange->client, gate->masked,
					    len);
}

size_t exchange_secrets_space(const struct exchange *exchange, size_t space)
{
	const struct mask *mask = &exchange->secrets.mask;
	size_t reserved = mask->count ? mask->held_len + RESERVED : 0;

	return space > reserved ? space - reserved : 0;
}

bool exchange_secrets_lost(const struct exchange_secrets *secrets,
			   const struct bindings *bindings,
			   const struct target *target)
{
	const struct injection *injection = &secrets->injection;

	/* One that was renewed may end what it began. */
	for (size_t i = 0; i < injection->used_count; i++) {
		const struct binding *now =
			bindings_find(bindings, injection->used[i]->name);

		if (!now || !now->value ||
		    !binding_has_host(now, target->name, target->port))
			return true;
	}
	return false;
}

bool exchange_secrets_revoked(const struct exchange *exchange)
{
	return exchange_secrets_lost(&exchange->secrets,
				     exchange->flow->gate->bindings,
				     &exchange->target);
}
