/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_query.c - keys of a query that carry a secret
 */
#include "net/inject_internal.h"

#include <stdint.h>
#include <string.h>

#include "base/secret.h"
#include "net/bindings.h"
#include "net/target.h"

static const char digits[] = "0123456789ABCDEF";

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = span_small(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a query, decoded; *len is how much of the text it took. */
static char next_byte(struct span text, size_t *len)
{
	int high = text.len > 2 ? nibble(text.bytes[1]) : -1;
	int low = text.len > 2 ? nibble(text.bytes[2]) : -1;

	*len = 1;
	if (text.bytes[0] != '%' || high < 0 || low < 0)
		return text.bytes[0] == '+' ? ' ' : text.bytes[0];
	*len = 3;
	return (char)(high << 4 | low);
}

/* The same once it is decoded; keys in any case of their letters. */
static bool says(struct span text, const char *wanted, bool fold)
{
	while (text.len && *wanted) {
		size_t used;
		char c = next_byte(text, &used);

		if (fold ? span_small(c) != span_small(*wanted) : c != *wanted)
			return false;
		wanted++;
		text = span_over(text.bytes + used, text.len - used);
	}
	return !text.len && !*wanted;
}

static bool has_key(const struct binding *binding, struct span key)
{
	for (char **one = binding->query; *one; one++) {
		if (says(key, *one, true))
			return true;
	}
	return false;
}

static int put_encoded(struct inject_text *out, const struct binding *binding)
{
	const char *value = secret_text(binding->value);

	for (; *value; value++) {
		const uint8_t c = (uint8_t)*value;
		const char coded[] = { '%', digits[c >> 4], digits[c & 15] };
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z') || strchr("-._~", c);

		if (inject_put(out, plain ? value : coded, plain ? 1 : 3) < 0)
			return -1;
	}
	return 0;
}

/* The binding whose placeholder stands behind one of its keys; or NULL. */
static const struct binding *carried(const struct inject *self, struct span key,
				     struct span value, bool *suspect)
{
	const struct target *target = self->facts->target;

	*suspect = false;
	for (size_t i = 0; i < self->bindings->count; i++) {
		const struct binding *binding = &self->bindings->list[i];

		if (!has_key(binding, key) ||
		    !binding_has_host(binding, target->name, target->port))
			continue;
		*suspect = true;
		if (!inject_may(binding, self->facts) &&
		    says(value, binding->placeholder, false))
			return binding;
	}
	return NULL;
}

/* One `key=value`, with what joins it to those before. */
static int put_pair(struct inject *self, struct span pair, char joint,
		    struct inject_text *out)
{
	const char *equals =
		pair.len ? memchr(pair.bytes, '=', pair.len) : NULL;
	size_t len = equals ? (size_t)(equals - pair.bytes) : pair.len;
	struct span key = span_over(pair.bytes, len);
	struct span value = equals ? span_over(equals + 1, pair.len - len - 1)
				   : span_over("", 0);
	bool suspect;
	const struct binding *binding = carried(self, key, value, &suspect);

	if (suspect && !binding)
		return 0;
	if (!memchr(out->bytes, '?', out->len))
		joint = '?';
	if (inject_put(out, &joint, 1) < 0)
		return -1;
	if (!binding)
		return inject_put(out, pair.bytes, pair.len);
	if (self->out->used_count < INJECT_USED_MAX)
		self->out->used[self->out->used_count++] = binding;
	return inject_put(out, pair.bytes, len + 1) < 0 ||
			       put_encoded(out, binding) < 0
		       ? -1
		       : 0;
}

/* `;` parts pairs too, for some servers. */
static size_t pair_length(struct span rest)
{
	size_t len = 0;

	while (len < rest.len && rest.bytes[len] != '&' &&
	       rest.bytes[len] != ';')
		len++;
	return len;
}

int inject_query(struct inject *self, struct span *path)
{
	const char *query =
		path->len ? memchr(path->bytes, '?', path->len) : NULL;
	struct inject_text text = inject_rest(self);
	struct span rest;

	if (!query)
		return 0;
	if (inject_put(&text, path->bytes, (size_t)(query - path->bytes)) < 0)
		return -1;
	/* With what stands before each: `?`, `&` or `;`. */
	rest = span_over(query, path->len - (size_t)(query - path->bytes));
	while (rest.len) {
		struct span pair = span_over(rest.bytes + 1, rest.len - 1);
		size_t len = pair_length(pair);

		pair.len = len;
		if (put_pair(self, pair, rest.bytes[0], &text) < 0)
			return -1;
		rest = span_over(rest.bytes + 1 + len, rest.len - 1 - len);
	}
	*path = inject_take(self, &text);
	return 0;
}
