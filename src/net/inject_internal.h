/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_internal.h - between inject.c and inject_query.c
 */
#pragma once

#include "net/inject.h"

/* Of what stands behind `Basic`, encoded. */
#define INJECT_BASIC_MAX 16384

/* Text that is being written. */
struct inject_text {
	char *bytes;
	size_t size, len;
};

struct inject {
	const struct bindings *bindings;
	const struct inject_facts *facts;
	struct inject_text arena;
	struct injection *out;
};

/* -1: no room. */
int inject_put(struct inject_text *out, const void *bytes, size_t len);

/* What is left of the arena, to write one text into … */
static inline struct inject_text inject_rest(const struct inject *self)
{
	return (struct inject_text){ self->arena.bytes + self->arena.len,
				     self->arena.size - self->arena.len, 0 };
}

/* … which stays there. */
static inline struct span inject_take(struct inject *self,
				      const struct inject_text *text)
{
	self->arena.len += text->len;
	return span_over(text->bytes, text->len);
}

/* Keys of the query that services have: the secret, or nothing. */
int inject_query(struct inject *self, struct span *path);
