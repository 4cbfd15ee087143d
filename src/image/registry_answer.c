/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_answer.c - small JSON answers of registries and token servers
 */
#include "image/registry_answer.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* It becomes a header: nothing that could end one. */
static bool is_fit(const char *token)
{
	for (const char *c = token; *c; c++)
		if (*c <= 0x20 || *c > 0x7e)
			return false;
	return token[0];
}

int registry_answer_token(const void *bytes, size_t len,
			  char token[REGISTRY_TOKEN_MAX], struct error *err)
{
	AUTO(json) json_t *json = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	const char *text = json_string_value(json_object_get(json, "token"));

	if (!text || !*text)
		text = json_string_value(json_object_get(json, "access_token"));
	if (!text || !is_fit(text) ||
	    text_copy(token, REGISTRY_TOKEN_MAX, text) < 0)
		return error_set(err, 0, "the token server gave no token");
	return 0;
}

void registry_answer_refusal(const void *bytes, size_t len, char *text,
			     size_t size)
{
	AUTO(json) json_t *json = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	const json_t *first =
		json_array_get(json_object_get(json, "errors"), 0);
	const char *said = json_string_value(json_object_get(first, "message"));

	if (!said || !*said)
		said = json_string_value(json_object_get(first, "code"));
	text_printable(said ? said : "", said ? strlen(said) : 0, text, size);
}
