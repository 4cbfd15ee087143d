/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c - why a turn of an agent failed
 */
#include "loop/fault.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

#define RETRY_MAX_SECONDS 21600u /* what a plan's window lasts */
#define FNV_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

static const char *const names[] = { "none", "other",   "auth",
				     "rate", "network", "missing" };
static_assert(ARRAY_SIZE(names) == FAULTS, "a name for each fault");

const char *fault_name(enum fault fault)
{
	return names[fault];
}

/*
 * The first row that fits counts. Bare numbers fit only as whole words, so
 * that 401 in a path or a count is none.
 */
static const struct {
	const char *words;
	enum fault fault;
} rows[] = {
	{ "429", FAULT_RATE },
	{ "529", FAULT_RATE },
	{ "rate limit", FAULT_RATE },
	{ "rate_limit", FAULT_RATE },
	{ "ratelimit", FAULT_RATE },
	{ "too many requests", FAULT_RATE },
	{ "usage limit", FAULT_RATE },
	{ "limit reached", FAULT_RATE },
	{ "overloaded", FAULT_RATE },
	{ "resource_exhausted", FAULT_RATE },
	{ "has been exhausted", FAULT_RATE },
	{ "quota", FAULT_RATE },
	{ "401", FAULT_AUTH },
	{ "unauthorized", FAULT_AUTH },
	{ "authentication", FAULT_AUTH },
	{ "invalid api key", FAULT_AUTH },
	{ "invalid x-api-key", FAULT_AUTH },
	{ "incorrect api key", FAULT_AUTH },
	{ "api key not valid", FAULT_AUTH },
	{ "invalid bearer token", FAULT_AUTH },
	{ "not logged in", FAULT_AUTH },
	{ "please run /login", FAULT_AUTH },
	{ "oauth token has expired", FAULT_AUTH },
	{ "502", FAULT_NETWORK },
	{ "503", FAULT_NETWORK },
	{ "504", FAULT_NETWORK },
	{ "econnrefused", FAULT_NETWORK },
	{ "econnreset", FAULT_NETWORK },
	{ "enotfound", FAULT_NETWORK },
	{ "etimedout", FAULT_NETWORK },
	{ "eai_again", FAULT_NETWORK },
	{ "enetunreach", FAULT_NETWORK },
	{ "connection error", FAULT_NETWORK },
	{ "connection refused", FAULT_NETWORK },
	{ "connection reset", FAULT_NETWORK },
	{ "network error", FAULT_NETWORK },
	{ "network is unreachable", FAULT_NETWORK },
	{ "could not resolve host", FAULT_NETWORK },
	{ "connection failed", FAULT_NETWORK },
	{ "cannot connect", FAULT_NETWORK },
	{ "could not connect", FAULT_NETWORK },
	{ "unable to connect", FAULT_NETWORK },
	{ "waiting for network", FAULT_NETWORK },
	{ "fetch failed", FAULT_NETWORK },
	{ "stream disconnected", FAULT_NETWORK },
	{ "reconnecting", FAULT_NETWORK },
};

static int is_wordish(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static const char *find_word(const char *text, size_t len, const char *word)
{
	size_t size = strlen(word);

	for (size_t at = 0; at + size <= len; at++) {
		if (strncasecmp(text + at, word, size) != 0)
			continue;
		if ((at && is_wordish(text[at - 1])) ||
		    (at + size < len && is_wordish(text[at + size])))
			continue;
		return text + at + size;
	}
	return NULL;
}

enum fault fault_of_text(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (find_word(text, len, rows[i].words))
			return rows[i].fault;
	return FAULT_OTHER;
}

enum fault fault_of_status(int status)
{
	switch (status) {
	case 401:
		return FAULT_AUTH;
	case 429:
	case 529:
		return FAULT_RATE;
	case 500:
	case 502:
	case 503:
	case 504:
		return FAULT_NETWORK;
	default:
		return FAULT_OTHER;
	}
}

static uint64_t unit_seconds(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	if (at == end)
		return 1;
	if (end - at >= 2 && at[0] == 'm' && at[1] == 's')
		return 0;
	switch (*at) {
	case 'm':
	case 'M':
		return 60;
	case 'h':
	case 'H':
		return 3600;
	default:
		return 1;
	}
}

uint64_t fault_retry_seconds(const char *text, size_t len)
{
	static const char *const leads[] = { "retry after", "retry-after",
					     "try again in", "retry in",
					     "retrydelay" };
	const char *end = text + len, *at = NULL;
	uint64_t value = 0;

	for (size_t i = 0; i < ARRAY_SIZE(leads) && !at; i++)
		at = find_word(text, len, leads[i]);
	if (!at)
		return 0;
	while (at < end && strchr(" :=\"'", *at) && *at)
		at++;
	if (at == end || !isdigit((unsigned char)*at))
		return 0;
	while (at < end && isdigit((unsigned char)*at) &&
	       value < RETRY_MAX_SECONDS)
		value = value * 10 + (uint64_t)(*at++ - '0');
	value *= unit_seconds(at, end);
	return value > RETRY_MAX_SECONDS ? RETRY_MAX_SECONDS : value;
}

uint64_t fault_signature(const char *text, size_t len)
{
	uint64_t hash = FNV_BASIS;
	int in_number = 0;

	for (size_t i = 0; i < len; i++) {
		int digit = isdigit((unsigned char)text[i]) != 0;

		if (digit && in_number)
			continue;
		in_number = digit;
		hash ^= digit ? '#' : (unsigned char)text[i];
		hash *= FNV_PRIME;
	}
	return hash ? hash : 1;
}
