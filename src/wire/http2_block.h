/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_block.h - the fields of one HTTP/2 header block, as they came
 *
 * Between the library that packs and unpacks them and http2_head.h, which knows
 * what they mean. Bounded in number and size; what goes over is only counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "wire/http_fields.h"

/* As SETTINGS_MAX_HEADER_LIST_SIZE counts: 32 bytes for each field besides. */
#define HTTP2_LIST_MAX 65536
#define HTTP2_FIELD_COST 32
#define HTTP2_ENCODED_MAX (HTTP2_LIST_MAX + 16384)
/* Some of these are joined to one, others are no fields for HTTP_FIELDS_MAX. */
#define HTTP2_BLOCK_FIELDS_MAX 256

struct http2_block {
	struct buffer bytes; /* private */
	size_t count;
	size_t list_size, list_max;
	bool too_large; /* something was left out */
};

void http2_block_init(struct http2_block *block);
/* For what we write: with room for whatever a parsed head can become. */
void http2_block_init_large(struct http2_block *block);
void http2_block_release(struct http2_block *block);
/* Copies both. -1: it is too large, now and for good. */
int http2_block_add(struct http2_block *block, struct span name,
		    struct span value);
/* The same with the name in small letters, as HTTP/2 wants it. */
int http2_block_add_small(struct http2_block *block, struct span name,
			  struct span value);
/*
 * In order; *at is 0 at first. False: there are no more. The texts lie in the
 * block until it changes.
 */
bool http2_block_next(const struct http2_block *block, size_t *at,
		      struct http_field *out);
/*
 * A client may send a cookie in pieces, for the sake of packing: they become
 * one field again (RFC 9113, 8.2.3), at the end.
 */
void http2_block_join_cookies(struct http2_block *block);
