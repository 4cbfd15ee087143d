/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_header.c - what counts of the lines before an answer
 */
#include "image/http_header.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/text.h"
#include "image/http.h"

#define RETRY_AFTER_MAX_S 3600

struct span {
	const char *at;
	size_t len;
};

static void copy(struct span value, char *to, size_t size)
{
	if (value.len >= size || memchr(value.at, '\0', value.len))
		return;
	memcpy(to, value.at, value.len);
	to[value.len] = '\0';
}

static void take_location(struct span value, struct http_response *response)
{
	copy(value, response->location, sizeof(response->location));
}

static void take_type(struct span value, struct http_response *response)
{
	/* "; charset=utf-8" says nothing to us */
	const char *end = memchr(value.at, ';', value.len);

	if (end)
		value.len = (size_t)(end - value.at);
	while (value.len && value.at[value.len - 1] == ' ')
		value.len--;
	copy(value, response->content_type, sizeof(response->content_type));
}

static void take_digest(struct span value, struct http_response *response)
{
	copy(value, response->digest, sizeof(response->digest));
	if (!digest_name_is_valid(response->digest))
		response->digest[0] = '\0';
}

/* There may be several such lines: the best of all counts. */
static void take_challenge(struct span value, struct http_response *response)
{
	struct challenge one;

	challenge_parse(value.at, value.len, &one);
	if (one.scheme > response->challenge.scheme)
		response->challenge = one;
}

/* "bytes 5-9/10" */
static void take_range(struct span value, struct http_response *response)
{
	char text[64] = "";
	char *dash;

	copy(value, text, sizeof(text));
	dash = strchr(text, '-');
	if (!dash || strncasecmp(text, "bytes ", 6) != 0)
		return;
	*dash = '\0';
	response->has_range = text_to_u64(text + 6, 0, UINT64_MAX,
					  &response->range_from) == 0;
}

static void take_retry(struct span value, struct http_response *response)
{
	char text[16] = "";
	uint64_t seconds;

	copy(value, text, sizeof(text));
	if (text_to_u64(text, 0, RETRY_AFTER_MAX_S, &seconds) == 0)
		response->retry_after_s = (unsigned)seconds;
}

static const struct {
	const char *name;
	void (*take)(struct span value, struct http_response *response);
} headers[] = {
	{ "location", take_location },
	{ "content-type", take_type },
	{ "docker-content-digest", take_digest },
	{ "www-authenticate", take_challenge },
	{ "content-range", take_range },
	{ "retry-after", take_retry },
};

static void reset(struct http_response *response)
{
	response->location[0] = '\0';
	response->content_type[0] = '\0';
	response->digest[0] = '\0';
	response->challenge = (struct challenge){ .scheme = CHALLENGE_NONE };
	response->has_range = false;
	response->retry_after_s = 0;
}

void http_header_take(const char *line, size_t len,
		      struct http_response *response)
{
	const char *colon;
	struct span value;
	size_t name_len;

	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		reset(response);
		return;
	}
	colon = len ? memchr(line, ':', len) : NULL;
	if (!colon)
		return;
	name_len = (size_t)(colon - line);
	value = (struct span){ colon + 1, len - name_len - 1 };
	while (value.len && strchr(" \t", *value.at) && *value.at) {
		value.at++;
		value.len--;
	}
	while (value.len && value.at[value.len - 1] &&
	       strchr(" \t\r\n", value.at[value.len - 1]))
		value.len--;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (strlen(headers[i].name) == name_len &&
		    strncasecmp(headers[i].name, line, name_len) == 0)
			headers[i].take(value, response);
}
