/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_block.c - the fields of one HTTP/2 header block, as they came
 *
 * One piece of memory: two lengths, then the two texts, field by field.
 */
#include "wire/http2_block.h"

#include <stdint.h>
#include <string.h>

struct lengths {
	uint32_t name, value;
};

#define BYTES_MAX \
	(HTTP2_ENCODED_MAX + HTTP2_BLOCK_FIELDS_MAX * sizeof(struct lengths))

static void init(struct http2_block *block, size_t list_max)
{
	*block = (struct http2_block){ .bytes = BUFFER_INIT(BYTES_MAX),
				       .list_max = list_max };
}

void http2_block_init(struct http2_block *block)
{
	init(block, HTTP2_LIST_MAX);
}

void http2_block_init_large(struct http2_block *block)
{
	init(block, HTTP2_ENCODED_MAX);
}

void http2_block_release(struct http2_block *block)
{
	buffer_release(&block->bytes);
	init(block, block->list_max);
}

static bool fits(const struct http2_block *block, struct span name,
		 struct span value)
{
	size_t left = block->list_max - block->list_size;

	if (block->too_large || block->count == HTTP2_BLOCK_FIELDS_MAX ||
	    left < HTTP2_FIELD_COST)
		return false;
	left -= HTTP2_FIELD_COST;
	return name.len <= left && value.len <= left - name.len;
}

int http2_block_add(struct http2_block *block, struct span name,
		    struct span value)
{
	struct lengths lengths = { (uint32_t)name.len, (uint32_t)value.len };

	if (!fits(block, name, value) ||
	    buffer_append(&block->bytes, &lengths, sizeof(lengths)) < 0 ||
	    buffer_append(&block->bytes, name.bytes, name.len) < 0 ||
	    buffer_append(&block->bytes, value.bytes, value.len) < 0) {
		block->too_large = true;
		return -1;
	}
	block->count++;
	block->list_size += name.len + value.len + HTTP2_FIELD_COST;
	return 0;
}

int http2_block_add_small(struct http2_block *block, struct span name,
			  struct span value)
{
	size_t at = block->bytes.len + sizeof(struct lengths);

	if (http2_block_add(block, name, value) < 0)
		return -1;
	for (size_t i = at; i < at + name.len; i++)
		block->bytes.data[i] =
			(uint8_t)span_small((char)block->bytes.data[i]);
	return 0;
}

bool http2_block_next(const struct http2_block *block, size_t *at,
		      struct http_field *out)
{
	const char *bytes = (const char *)block->bytes.data;
	struct lengths lengths;

	if (*at >= block->bytes.len)
		return false;
	memcpy(&lengths, bytes + *at, sizeof(lengths));
	*at += sizeof(lengths);
	out->name = span_over(bytes + *at, lengths.name);
	out->value = span_over(bytes + *at + lengths.name, lengths.value);
	*at += (size_t)lengths.name + lengths.value;
	return true;
}

static bool is_cookie(const struct http_field *field)
{
	return span_is(field->name, "cookie");
}

static size_t count_cookies(const struct http2_block *block)
{
	struct http_field field;
	size_t at = 0, count = 0;

	while (http2_block_next(block, &at, &field))
		count += is_cookie(&field);
	return count;
}

/* Joined they take less than they took apart. */
void http2_block_join_cookies(struct http2_block *block)
{
	struct buffer joined = BUFFER_INIT(HTTP2_LIST_MAX);
	struct http2_block others;
	struct http_field field;
	size_t at = 0;

	if (count_cookies(block) < 2)
		return;
	http2_block_init(&others);
	while (http2_block_next(block, &at, &field)) {
		if (!is_cookie(&field)) {
			(void)http2_block_add(&others, field.name, field.value);
			continue;
		}
		if (joined.len)
			(void)buffer_append(&joined, "; ", 2);
		(void)buffer_append(&joined, field.value.bytes,
				    field.value.len);
	}
	(void)http2_block_add(&others, span_of("cookie"),
			      span_over((const char *)joined.data, joined.len));
	others.too_large |= block->too_large;
	buffer_release(&joined);
	http2_block_release(block);
	*block = others;
}
