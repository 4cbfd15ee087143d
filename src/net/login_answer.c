/* SPDX-License-Identifier: Apache-2.0 */
/*
 * login_answer.c - the tokens in the answer of a token endpoint
 */
#include "net/login_answer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/own.h"
#include "base/secret.h"

static const char *const fields[] = { LOGIN_ACCESS, LOGIN_REFRESH, "id_token" };

static const struct login_token *with_value(const struct login *login,
					    struct span value)
{
	for (size_t i = 0; i < login->count; i++) {
		if (span_is(value, secret_text(login->tokens[i].value)))
			return &login->tokens[i];
	}
	return NULL;
}

/*
 * One that the guest has already stays as it is. So does that of a refresh
 * token which took another's place, where its shape allows: a second request of
 * the guest's, or one that was restored, still has the old one.
 */
static const char *old_placeholder(const struct login *login,
				   enum login_answer_use use, const char *field,
				   struct span value)
{
	const struct login_token *old = with_value(login, value);

	if (old && strlen(old->placeholder) == value.len)
		return old->placeholder;
	old = use == LOGIN_MADE ? NULL : login_token(login, field);
	if (!old || use == LOGIN_BY_HOST)
		return old ? old->placeholder : NULL;
	if (strcmp(field, LOGIN_REFRESH) != 0 ||
	    strlen(old->placeholder) != value.len ||
	    memcmp(old->placeholder, value.bytes, token_shown(value)) != 0)
		return NULL;
	return old->placeholder;
}

static void new_placeholder(struct span value, char out[TOKEN_MAX + 1])
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char noise[TOKEN_MAX];
	size_t shown = token_shown(value);

	memcpy(out, value.bytes, shown);
	if (getrandom(noise, value.len, 0) != (ssize_t)value.len)
		abort();
	for (size_t i = shown; i < value.len; i++)
		out[i] = letters[noise[i] % (sizeof(letters) - 1)];
	out[value.len] = '\0';
}

static int64_t expiry(enum token_body_kind kind, struct span body)
{
	int64_t life = token_body_number(kind, body, "expires_in");
	struct span access;

	if (life > 0)
		return (int64_t)time(NULL) + life;
	return token_body_find(kind, body, LOGIN_ACCESS, &access) < 0
		       ? 0
		       : token_expires(access);
}

/* What cannot be read is not told: a renewal without one gets the same. */
static void read_scope(enum token_body_kind kind, struct span body,
		       char out[LOGIN_SCOPE_MAX + 1])
{
	struct span scope;

	out[0] = '\0';
	if (kind != TOKEN_BODY_JSON ||
	    token_body_find(kind, body, "scope", &scope) < 0 ||
	    scope.len > LOGIN_SCOPE_MAX)
		return;
	memcpy(out, scope.bytes, scope.len);
	out[scope.len] = '\0';
	if (strlen(out) != scope.len || !login_is_scope(out))
		out[0] = '\0';
}

/* Takes the token of a field out of the answer, and notes both. */
static const char *take_token(const struct login *login,
			      enum login_answer_use use, const char *field,
			      struct span value, json_t *tokens)
{
	const char *old = old_placeholder(login, use, field, value);
	char fresh[TOKEN_MAX + 1];

	if (!token_is_plain(value))
		return "a token of a login has an unusual form";
	if (!old)
		new_placeholder(value, fresh);
	json_array_append_new(tokens,
			      json_pack("{s:s, s:s, s:s%}", "field", field,
					"placeholder", old ? old : fresh,
					"value", value.bytes, value.len));
	if (use != LOGIN_BY_HOST)
		memcpy((char *)value.bytes, old ? old : fresh, value.len);
	return NULL;
}

const char *login_answer_take(const struct login *login,
			      enum login_answer_use use,
			      enum token_body_kind kind, struct span body,
			      struct login_answer *out)
{
	const char *problem = NULL;
	struct span value;

	*out = (struct login_answer){ .tokens = json_array(),
				      .expires = expiry(kind, body) };
	read_scope(kind, body, out->scope);
	for (size_t i = 0; i < ARRAY_SIZE(fields) && !problem; i++) {
		if (token_body_find(kind, body, fields[i], &value) < 0)
			problem = "the answer to a login cannot be read";
		else if (value.len)
			problem = take_token(login, use, fields[i], value,
					     out->tokens);
	}
	return problem;
}
