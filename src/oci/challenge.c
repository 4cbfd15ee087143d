/* SPDX-License-Identifier: Apache-2.0 */
/*
 * challenge.c - WWW-Authenticate: what a registry wants to see
 *
 * challenge = scheme [ name "=" value *( "," name "=" value ) ], several of
 * them joined by "," again. A word is a scheme when no "=" follows it.
 */
#include "oci/challenge.h"

#include <string.h>
#include <strings.h>

#define WORD_MAX 32

struct scanner {
	const char *at, *end;
};

static void skip(struct scanner *scanner, const char *set)
{
	while (scanner->at < scanner->end && *scanner->at &&
	       strchr(set, *scanner->at))
		scanner->at++;
}

static bool next_is(const struct scanner *scanner, char c)
{
	return scanner->at < scanner->end && *scanner->at == c;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* False when there is no word, or one too long to be of interest. */
static bool take_word(struct scanner *scanner, char word[WORD_MAX])
{
	size_t len = 0;

	while (scanner->at < scanner->end && is_word_char(*scanner->at)) {
		if (len + 1 == WORD_MAX)
			return false;
		word[len++] = *scanner->at++;
	}
	word[len] = '\0';
	return len > 0;
}

/* Printable ASCII only: what comes out becomes part of an address. */
static bool put(char *out, size_t *len, char c)
{
	if (c < 0x20 || c > 0x7e || *len + 1 >= CHALLENGE_TEXT_MAX)
		return false;
	out[(*len)++] = c;
	return true;
}

static bool take_quoted(struct scanner *scanner, char *out, size_t *len)
{
	for (scanner->at++; scanner->at < scanner->end; scanner->at++) {
		if (*scanner->at == '"') {
			scanner->at++;
			return true;
		}
		if (*scanner->at == '\\' && ++scanner->at == scanner->end)
			return false;
		if (!put(out, len, *scanner->at))
			return false;
	}
	return false;
}

static bool take_value(struct scanner *scanner, char out[CHALLENGE_TEXT_MAX])
{
	size_t len = 0;
	bool good = true;

	if (next_is(scanner, '"'))
		good = take_quoted(scanner, out, &len);
	else
		while (scanner->at < scanner->end && *scanner->at != ',' &&
		       *scanner->at != ' ' && good)
			good = put(out, &len, *scanner->at++);
	out[len] = '\0';
	return good;
}

static char *field_of(struct challenge *challenge, const char *name)
{
	if (strcasecmp(name, "realm") == 0)
		return challenge->realm;
	if (strcasecmp(name, "service") == 0)
		return challenge->service;
	if (strcasecmp(name, "scope") == 0)
		return challenge->scope;
	return NULL;
}

/* The parameters up to the next scheme; false when they cannot be read. */
static bool take_fields(struct scanner *scanner, struct challenge *challenge)
{
	for (;;) {
		char name[WORD_MAX], value[CHALLENGE_TEXT_MAX];
		struct scanner before;
		char *field;

		skip(scanner, " \t,");
		before = *scanner;
		if (scanner->at == scanner->end)
			return true;
		if (!take_word(scanner, name))
			return false;
		skip(scanner, " \t");
		if (!next_is(scanner, '=')) {
			*scanner = before;
			return true;
		}
		scanner->at++;
		skip(scanner, " \t");
		if (!take_value(scanner, value))
			return false;
		field = field_of(challenge, name);
		if (field && field[0])
			return false;
		if (field)
			memcpy(field, value, strlen(value) + 1);
	}
}

static enum challenge_scheme scheme_of(const char *word)
{
	if (strcasecmp(word, "bearer") == 0)
		return CHALLENGE_BEARER;
	return strcasecmp(word, "basic") == 0 ? CHALLENGE_BASIC
					      : CHALLENGE_NONE;
}

void challenge_parse(const char *value, size_t len, struct challenge *challenge)
{
	struct scanner scanner = { value, value + len };
	char word[WORD_MAX];

	*challenge = (struct challenge){ .scheme = CHALLENGE_NONE };
	for (;;) {
		struct challenge one = { .scheme = CHALLENGE_NONE };

		skip(&scanner, " \t,");
		if (scanner.at == scanner.end || !take_word(&scanner, word))
			return;
		one.scheme = scheme_of(word);
		if (!take_fields(&scanner, &one))
			return;
		if (one.scheme == CHALLENGE_BEARER && !one.realm[0])
			continue;
		if (one.scheme > challenge->scheme)
			*challenge = one;
	}
}
