/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.c - puts secrets into requests, and takes other credentials out
 */
#include "net/inject_internal.h"

#include <string.h>

#include "base/own.h"
#include "base/secret.h"
#include "net/bindings.h"
#include "net/target.h"
#include "policy/policy.h"
#include "wire/base64.h"

/* Where credentials stand, besides the headers of the bound services. */
static const char *const credentials[] = {
	"authorization",
	"proxy-authorization",
	"cookie",
	"x-api-key",
	"api-key",
	"x-goog-api-key",
	"x-auth-token",
	"x-access-token",
	"private-token",
	"x-goog-iam-authorization-token",
	"x-amz-security-token",
};

/* Such responses could not be masked. */
static const char *const unmaskable[] = { "accept-encoding", "range",
					  "if-range",
					  "sec-websocket-extensions" };

static const char no_value[] = "there is no value now";

bool inject_is_credential(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
		if (span_matches_text(name, credentials[i]))
			return true;
	}
	return false;
}

static bool is_allowed(const struct binding *binding,
		       const struct inject_facts *facts)
{
	const struct policy_request request = {
		.name = facts->target->name,
		.port = facts->target->port,
		.method = facts->method,
		.path = facts->path,
	};

	return policy_decide_request(binding->where, &request).answer ==
	       POLICY_ALLOW;
}

/* The body of a question that is asked at this path; NULL: it is none. */
static const char *question_at(const char *question, const char *path)
{
	size_t len = strcspn(question, " ");

	return strlen(path) == len && memcmp(path, question, len) == 0
		       ? question + len + 1
		       : NULL;
}

static bool may_ask(const struct binding *binding,
		    const struct inject_facts *facts)
{
	if (!facts->path || strcmp(facts->method, "POST") != 0)
		return false;
	for (char **one = binding->questions; one && *one; one++) {
		if (question_at(*one, facts->path))
			return true;
	}
	return false;
}

bool inject_is_question(const struct binding *binding, const char *path,
			struct span body)
{
	while (body.len && strchr(" \r\n", body.bytes[body.len - 1]))
		body.len--;
	for (char **one = binding->questions; one && *one; one++) {
		const char *text = question_at(*one, path);

		if (text && span_is(body, text))
			return true;
	}
	return false;
}

const char *inject_may(const struct binding *binding,
		       const struct inject_facts *facts)
{
	const struct target *target = facts->target;

	if (!target->name || target->is_host)
		return "not the name of a host";
	if (facts->bypassed)
		return "a rule bypasses the host";
	if (!binding_has_host(binding, target->name, target->port))
		return "the host is not bound";
	if (!facts->names_agree)
		return "the request names another host";
	if (!facts->encrypted && !binding->plain_http)
		return "not encrypted";
	if (facts->encrypted && !facts->verified)
		return "the server did not prove its name";
	if (!is_allowed(binding, facts) && !may_ask(binding, facts))
		return "not for this method and path";
	if (!binding->value)
		return no_value;
	return NULL;
}

int inject_put(struct inject_text *out, const void *bytes, size_t len)
{
	if (len > out->size - out->len)
		return -1;
	if (len)
		memcpy(out->bytes + out->len, bytes, len);
	out->len += len;
	return 0;
}

static int put_secret(struct inject_text *out, const struct binding *binding)
{
	return inject_put(out, secret_text(binding->value),
			  secret_len(binding->value));
}

static const char *find_once(const char *bytes, size_t len, const char *what)
{
	size_t size = strlen(what);
	const char *at = len ? memmem(bytes, len, what, size) : NULL;

	if (!at || memmem(at + 1, len - (size_t)(at + 1 - bytes), what, size))
		return NULL;
	return at;
}

/* 1: put in; 0: the placeholder is not there, once; -1: no room. */
static int replace_plain(const struct binding *binding, struct span text,
			 struct inject_text *out)
{
	const char *at = find_once(text.bytes, text.len, binding->placeholder);
	const char *after = at ? at + strlen(binding->placeholder) : NULL;

	if (!at)
		return 0;
	if (inject_put(out, text.bytes, (size_t)(at - text.bytes)) < 0 ||
	    put_secret(out, binding) < 0 ||
	    inject_put(out, after, text.len - (size_t)(after - text.bytes)) < 0)
		return -1;
	return 1;
}

static int put_base64(struct inject_text *out, const void *bytes, size_t len)
{
	if (BASE64_SIZE(len) > out->size - out->len)
		return -1;
	out->len += base64_encode(bytes, len, out->bytes + out->len);
	return 0;
}

/* The same inside `Basic ...`. */
static int replace_basic(const struct binding *binding, struct span text,
			 struct inject_text *out)
{
	static const char scheme[] = "basic ";
	char plain[INJECT_BASIC_MAX], filled[2 * INJECT_BASIC_MAX];
	struct inject_text inner = { filled, sizeof(filled), 0 };
	size_t skip = sizeof(scheme) - 1;
	int len, result;

	if (text.len <= skip || text.len - skip > INJECT_BASIC_MAX ||
	    !span_matches_text(span_over(text.bytes, skip), scheme))
		return 0;
	len = base64_decode(text.bytes + skip, text.len - skip, plain);
	if (len <= 0)
		return 0;
	result = replace_plain(binding, span_over(plain, (size_t)len), &inner);
	if (result > 0 && (inject_put(out, text.bytes, skip) < 0 ||
			   put_base64(out, filled, inner.len) < 0))
		result = -1;
	secret_wipe(filled, sizeof(filled));
	return result;
}

static int write_header(const struct binding *binding,
			const struct binding_header *header,
			struct inject_text *out)
{
	char filled[2 * INJECT_BASIC_MAX];
	struct inject_text inner = { filled, sizeof(filled), 0 };
	int result;

	if (inject_put(out, header->before, strlen(header->before)) < 0)
		return -1;
	if (!header->base64)
		return put_secret(out, binding) < 0 ||
				       inject_put(out, header->after,
						  strlen(header->after)) < 0
			       ? -1
			       : 0;
	result = inject_put(&inner, header->inner, strlen(header->inner)) < 0 ||
				 put_secret(&inner, binding) < 0 ||
				 inject_put(&inner, header->inner_after,
					    strlen(header->inner_after)) < 0 ||
				 put_base64(out, filled, inner.len) < 0
			 ? -1
			 : 0;
	secret_wipe(filled, sizeof(filled));
	return result;
}

static bool carries(const struct binding *binding,
		    const struct inject_facts *facts, struct span name)
{
	for (size_t i = 0; i < binding->header_count; i++) {
		if (span_matches_text(name, binding->headers[i].name) &&
		    binding_header_is_for(&binding->headers[i],
					  facts->target->name,
					  facts->target->port))
			return true;
	}
	return false;
}

static void note_used(struct injection *out, const struct binding *binding)
{
	for (size_t i = 0; i < out->used_count; i++) {
		if (out->used[i] == binding)
			return;
	}
	if (out->used_count < INJECT_USED_MAX)
		out->used[out->used_count++] = binding;
}

/* 1: the field has a secret now; 0: it is nobody's; -1: no room. */
static int fill_field(struct inject *self, struct http_field *field)
{
	for (size_t i = 0; i < self->bindings->count; i++) {
		const struct binding *binding = &self->bindings->list[i];
		struct inject_text text = inject_rest(self);
		int result;

		if (!carries(binding, self->facts, field->name) ||
		    inject_may(binding, self->facts))
			continue;
		result = replace_plain(binding, field->value, &text);
		if (result == 0)
			result = replace_basic(binding, field->value, &text);
		if (result > 0) {
			field->value = inject_take(self, &text);
			note_used(self->out, binding);
		}
		if (result)
			return result;
	}
	return 0;
}

static bool is_suspect(const struct inject *self, struct span name)
{
	if (inject_is_credential(name))
		return true;
	for (size_t i = 0; i < self->bindings->count; i++) {
		const struct binding *binding = &self->bindings->list[i];

		if (binding_has_host(binding, self->facts->target->name,
				     self->facts->target->port) &&
		    carries(binding, self->facts, name))
			return true;
	}
	return false;
}

static bool came_before(const struct http_fields *fields, size_t count,
			struct span name)
{
	for (size_t i = 0; i < count; i++) {
		if (span_matches(fields->list[i].name, name))
			return true;
	}
	return false;
}

/* Credentials get their secret, or go; of one name the first counts. */
static int fill_fields(struct inject *self, struct http_fields *fields)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++) {
		struct http_field field = fields->list[i];
		bool suspect = is_suspect(self, field.name);
		int result = 1;

		if (suspect)
			result = came_before(fields, kept, field.name)
					 ? 0
					 : fill_field(self, &field);
		if (result < 0)
			return -1;
		if (result)
			fields->list[kept++] = field;
	}
	fields->count = kept;
	return 0;
}

/* No placeholder was there: the first secret that may, in its first header. */
static int add_header(struct inject *self, struct http_fields *fields)
{
	for (size_t i = 0; i < self->bindings->count; i++) {
		const struct binding *binding = &self->bindings->list[i];

		if (inject_may(binding, self->facts))
			continue;
		for (size_t k = 0; k < binding->header_count; k++) {
			const struct binding_header *header =
				&binding->headers[k];
			struct inject_text text = inject_rest(self);

			if (!binding_header_is_for(header,
						   self->facts->target->name,
						   self->facts->target->port))
				continue;
			if (write_header(binding, header, &text) < 0 ||
			    http_fields_add(fields, span_of(header->name),
					    inject_take(self, &text)) < 0)
				return -1;
			note_used(self->out, binding);
			return 0;
		}
	}
	return 0;
}

/* Bound and allowed, but its value is not there: a request would fail. */
static const struct binding *find_missing(const struct inject *self)
{
	for (size_t i = 0; i < self->bindings->count; i++) {
		const struct binding *binding = &self->bindings->list[i];

		/* It is the last thing that is asked about. */
		if (inject_may(binding, self->facts) == no_value)
			return binding;
	}
	return NULL;
}

int inject_request(const struct bindings *bindings,
		   const struct inject_facts *facts,
		   struct http_request *request, char *arena,
		   struct injection *out)
{
	struct inject self = { .bindings = bindings,
			       .facts = facts,
			       .arena = { arena, INJECT_ARENA_SIZE, 0 },
			       .out = out };
	struct http_fields *fields = &request->fields;

	*out = (struct injection){ .bound = false };
	if (!facts->target->name || facts->target->is_host || facts->bypassed ||
	    !bindings_have_host(bindings, facts->target->name,
				facts->target->port))
		return 0;
	out->bound = true;
	out->arena_used = INJECT_ARENA_SIZE;
	if (fill_fields(&self, fields) < 0 ||
	    inject_query(&self, &request->path) < 0 ||
	    (!out->used_count && add_header(&self, fields) < 0))
		return -1;
	out->arena_used = self.arena.len;
	if (!out->used_count)
		out->missing = find_missing(&self);
	for (size_t i = 0; i < out->used_count; i++) {
		if (!is_allowed(out->used[i], facts))
			out->question = out->used[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(unmaskable); i++)
		http_fields_remove(fields, unmaskable[i]);
	return http_fields_add(fields, span_of("accept-encoding"),
			       span_of("identity"));
}
