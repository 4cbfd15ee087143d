/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method.c - HTTP methods as bits
 */
#include "policy/method.h"

#include <assert.h>
#include <string.h>

#include "base/own.h"
#include "policy/fold.h"

#define ROW(name)                      \
	{                              \
		name, sizeof(name) - 1 \
	}

/* The most frequent first: they are looked for in this order. */
static const struct {
	const char *name;
	size_t len;
} methods_known[] = {
	ROW("GET"),    ROW("HEAD"),     ROW("POST"),      ROW("PUT"),
	ROW("PATCH"),  ROW("DELETE"),   ROW("OPTIONS"),   ROW("CONNECT"),
	ROW("TRACE"),  ROW("PROPFIND"), ROW("PROPPATCH"), ROW("MKCOL"),
	ROW("COPY"),   ROW("MOVE"),     ROW("LOCK"),      ROW("UNLOCK"),
	ROW("REPORT"), ROW("SEARCH"),   ROW("QUERY"),     ROW("PURGE"),
};

static_assert(ARRAY_SIZE(methods_known) < 31, "one bit for each, and another");

uint32_t method_bit(const char *method)
{
	size_t len = strlen(method);

	if (*method < 'A' || *method > 'Z')
		return METHOD_OTHER;
	for (size_t i = 0; i < ARRAY_SIZE(methods_known); i++) {
		if (len == methods_known[i].len &&
		    method[0] == methods_known[i].name[0] &&
		    memcmp(method, methods_known[i].name, len) == 0)
			return 1u << i;
	}
	return METHOD_OTHER;
}

static uint32_t find_in_either_case(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods_known); i++) {
		if (len == methods_known[i].len &&
		    fold_equal(text, methods_known[i].name, len))
			return 1u << i;
	}
	return 0;
}

int method_list_parse(const char *text, size_t len, uint32_t *methods)
{
	const char *end = text + len;

	*methods = 0;
	for (;;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;
		uint32_t bit = find_in_either_case(text, (size_t)(stop - text));

		if (!bit)
			return -1;
		*methods |= bit;
		if (!comma)
			return 0;
		text = comma + 1;
	}
}

void method_list_format(uint32_t methods, char out[METHODS_TEXT_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(methods_known); i++) {
		size_t len = methods_known[i].len;

		if (!(methods & 1u << i) || used + len + 2 > METHODS_TEXT_SIZE)
			continue;
		if (used)
			out[used++] = ',';
		memcpy(out + used, methods_known[i].name, len);
		used += len;
	}
	out[used] = '\0';
}
