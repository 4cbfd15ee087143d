/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_same.h - do two heads mean the same, and survive being written again?
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "wire/http1_encode.h"
#include "wire/http1_head.h"

static inline bool http_same_span(struct span a, struct span b)
{
	return a.len == b.len &&
	       (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

static inline bool http_same_fields(const struct http_fields *a,
				    const struct http_fields *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!http_same_span(a->list[i].name, b->list[i].name) ||
		    !http_same_span(a->list[i].value, b->list[i].value))
			return false;
	}
	return true;
}

static inline bool http_same_body(const struct http_body *a,
				  const struct http_body *b)
{
	return a->kind == b->kind && a->has_length == b->has_length &&
	       a->length == b->length;
}

static inline bool http_same_request(const struct http_request *a,
				     const struct http_request *b)
{
	return http_same_span(a->method, b->method) &&
	       a->method_kind == b->method_kind &&
	       a->has_authority == b->has_authority &&
	       authority_same_host(&a->authority, &b->authority) &&
	       address_equal(&a->authority.address, &b->authority.address) &&
	       a->authority.port == b->authority.port &&
	       http_same_span(a->path, b->path) &&
	       http_same_fields(&a->fields, &b->fields) &&
	       http_same_body(&a->body, &b->body) &&
	       http_same_span(a->upgrade, b->upgrade) &&
	       a->keep_alive == b->keep_alive &&
	       a->expects_continue == b->expects_continue &&
	       a->accepts_trailers == b->accepts_trailers;
}

static inline bool http_same_response(const struct http_response *a,
				      const struct http_response *b)
{
	return a->status == b->status && http_same_span(a->reason, b->reason) &&
	       http_same_fields(&a->fields, &b->fields) &&
	       http_same_body(&a->body, &b->body) &&
	       http_same_span(a->upgrade, b->upgrade) &&
	       a->keep_alive == b->keep_alive &&
	       a->is_interim == b->is_interim && a->is_tunnel == b->is_tunnel;
}

/* With the fields that writing adds it may be more than a head may have. */
static inline bool http_is_full(const struct http_fields *fields, int len)
{
	return fields->count > HTTP_FIELDS_MAX - 8 || len > HTTP1_HEAD_MAX;
}

/* The whole text is one head, and it is read as the same request. */
static inline bool http_request_survives(const struct http_request *request)
{
	char *out = malloc(HTTP1_ENCODED_MAX);
	struct http_request *again = malloc(sizeof(*again));
	unsigned flags = (request->keep_alive ? 0 : HTTP1_CLOSE) |
			 (request->upgrade.len ? HTTP1_UPGRADE : 0);
	int len = http1_request_encode(request, flags, out, HTTP1_ENCODED_MAX);
	struct http_problem problem;
	size_t scanned = 0;
	bool fine;

	fine = (len > 0 && http_is_full(&request->fields, len)) ||
	       (len > 0 &&
		http1_head_length(out, (size_t)len, &scanned, &problem) ==
			len &&
		http1_request_parse(out, (size_t)len, again, &problem) == 0 &&
		http_same_request(request, again));
	free(again);
	free(out);
	return fine;
}

static inline bool http_response_survives(const struct http_response *response,
					  enum http_method asked)
{
	char *out = malloc(HTTP1_ENCODED_MAX);
	struct http_response *again = malloc(sizeof(*again));
	unsigned flags = (response->keep_alive ? 0 : HTTP1_CLOSE) |
			 (response->upgrade.len ? HTTP1_UPGRADE : 0);
	int len =
		http1_response_encode(response, flags, out, HTTP1_ENCODED_MAX);
	struct http_problem problem;
	size_t scanned = 0;
	bool fine;

	fine = (len > 0 && http_is_full(&response->fields, len)) ||
	       (len > 0 &&
		http1_head_length(out, (size_t)len, &scanned, &problem) ==
			len &&
		http1_response_parse(out, (size_t)len, asked, again,
				     &problem) == 0 &&
		http_same_response(response, again));
	free(again);
	free(out);
	return fine;
}
