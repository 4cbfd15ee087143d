/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.c - services where a guest may log in, and the tokens of its logins
 */
#include "net/logins.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "net/mask.h"
#include "policy/policy.h"
#include "wire/authority.h"
#include "wire/token_body.h"

#define RULES_MAX 65536

static int refuse(struct error *err, const char *what)
{
	return error_set(err, 0, "logins: %s", what);
}

static struct policy *compile(const struct buffer *text, struct error *err)
{
	struct policy_source source = { .scope = POLICY_GLOBAL,
					.name = "logins",
					.text = (const char *)text->data,
					.len = text->len };

	return policy_compile(&source, 1, err);
}

static int read_endpoints(const json_t *list, struct login *login,
			  struct error *err)
{
	AUTO_BUFFER struct buffer hosts = BUFFER_INIT(RULES_MAX);
	AUTO_BUFFER struct buffer where = BUFFER_INIT(RULES_MAX);
	AUTO_BUFFER struct buffer near = BUFFER_INIT(RULES_MAX);
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);
		const char *slash = text ? strchr(text, '/') : NULL;

		/* One word, or it would be more than one in a rule. */
		if (!slash || slash == text || strpbrk(text, " \t\r\n#*,") ||
		    buffer_printf(&hosts, "allow %.*s\n", (int)(slash - text),
				  text) < 0 ||
		    buffer_printf(&where, "allow POST %s\n", text) < 0 ||
		    buffer_printf(&near, "deny POST %s\n", text) < 0)
			return refuse(err, "an endpoint is malformed");
	}
	if (!hosts.len)
		return refuse(err, "no endpoint");
	/* Rules that deny read a path more loosely than those that allow. */
	if (buffer_append(&near, hosts.data, hosts.len) < 0)
		return refuse(err, "too many endpoints");
	login->hosts = compile(&hosts, err);
	login->where = login->hosts ? compile(&where, err) : NULL;
	login->near = login->where ? compile(&near, err) : NULL;
	return login->near ? 0 : -1;
}

static int read_token(json_t *json, struct login *login, struct error *err)
{
	struct login_token *token = &login->tokens[login->count];
	const char *field, *placeholder, *value;
	size_t len;

	if (login->count == LOGIN_TOKENS_MAX ||
	    json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s:s}", "field",
			   &field, "placeholder", &placeholder, "value",
			   &value) < 0 ||
	    !token_is_plain(span_of(value)) ||
	    !token_is_plain(span_of(placeholder)))
		return refuse(err, "a token is malformed");
	len = strlen(value);
	login->count++;
	token->field = xstrdup(field);
	token->placeholder = xstrdup(placeholder);
	token->value = secret_new(value, len, err);
	token->forms = token->value ? mask_forms_new(value, len, err) : NULL;
	return token->forms ? 0 : -1;
}

/* Nothing that JSON would have to escape. */
bool login_is_scope(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			return false;
	}
	return *text && strlen(text) <= LOGIN_SCOPE_MAX;
}

static int add_scope(struct buffer *text, bool form, const char *scope)
{
	int bad = buffer_printf(text, form ? "scope=" : "\"scope\":\"");

	for (const char *p = scope; *p; p++) {
		bool plain = !form || (*p >= 'a' && *p <= 'z') ||
			     (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9');

		bad |= buffer_printf(text, plain ? "%c" : "%%%02X", *p);
	}
	return bad | buffer_printf(text, form ? "&" : "\",");
}

static int read_fields(struct login_renew *renew, json_t *fields,
		       const char *scope, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RULES_MAX);
	const char *name;
	json_t *value;
	int bad;

	bad = buffer_printf(&text, renew->form ? "grant_type=refresh_token&"
					       : "{\"grant_type\":"
						 "\"refresh_token\",");
	json_object_foreach(fields, name, value)
	{
		const char *is = json_string_value(value);

		/* Nothing that would have to be escaped. */
		if (!is || strpbrk(is, "\"\\&=%+ ") ||
		    strpbrk(name, "\"\\&=%+ "))
			return refuse(err, "how to renew is malformed");
		bad |= buffer_printf(&text,
				     renew->form ? "%s=%s&" : "\"%s\":\"%s\",",
				     name, is);
	}
	if (scope)
		bad |= add_scope(&text, renew->form, scope);
	bad |= buffer_printf(&text, renew->form ? "refresh_token="
						: "\"refresh_token\":\"");
	if (bad || !buffer_str(&text))
		return refuse(err, "how to renew is too long");
	renew->before = xstrdup(buffer_str(&text));
	renew->after = xstrdup(renew->form ? "" : "\"}");
	return 0;
}

/* HOST[:PORT]/PATH; a word, as it is one of the endpoints. */
static int read_renew(json_t *json, const char *scope, struct login *login,
		      struct error *err)
{
	struct login_renew *renew = &login->renew;
	const char *endpoint, *type, *slash;
	struct authority authority;
	json_t *fields;
	int scoped = 0;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s:o, s?b}",
			   "endpoint", &endpoint, "type", &type, "fields",
			   &fields, "scope", &scoped) < 0 ||
	    !json_is_object(fields) || strpbrk(endpoint, " \t\r\n") ||
	    !(slash = strchr(endpoint, '/')) ||
	    authority_parse(endpoint, (size_t)(slash - endpoint), &authority) <
		    0 ||
	    authority.address.family)
		return refuse(err, "how to renew is malformed");
	renew->form = strcmp(type, "form") == 0;
	renew->host = xstrdup(authority.host);
	renew->port = authority.port ? authority.port : 443;
	renew->path = xstrdup(slash);
	return read_fields(renew, fields, scoped ? scope : NULL, err);
}

int login_read(json_t *json, struct login *login, struct error *err)
{
	json_t *endpoints, *tokens, *item, *renew = NULL;
	const char *name, *scope = NULL;
	json_int_t expires = 0;
	int refused = 0;
	size_t i;

	if (json_unpack_ex(json, NULL, JSON_STRICT,
			   "{s:s, s:o, s:o, s?I, s?b, s?s, s?o}", "name", &name,
			   "endpoints", &endpoints, "tokens", &tokens,
			   "expires", &expires, "refused", &refused, "scope",
			   &scope, "renew", &renew) < 0 ||
	    !json_is_array(tokens) || (scope && !login_is_scope(scope)))
		return refuse(err, "an entry is malformed");
	login->name = xstrdup(name);
	login->expires = expires;
	login->refused = refused;
	if (read_endpoints(endpoints, login, err) < 0 ||
	    (renew && read_renew(renew, scope, login, err) < 0))
		return -1;
	json_array_foreach(tokens, i, item)
	{
		if (read_token(item, login, err) < 0)
			return -1;
	}
	return 0;
}

void login_release(struct login *login)
{
	for (size_t i = 0; i < login->count; i++) {
		free(login->tokens[i].field);
		free(login->tokens[i].placeholder);
		secret_free(login->tokens[i].value);
		mask_forms_free(login->tokens[i].forms);
	}
	free(login->name);
	free(login->renew.host);
	free(login->renew.path);
	free(login->renew.before);
	free(login->renew.after);
	policy_free(login->hosts);
	policy_free(login->where);
	policy_free(login->near);
}

const struct login_token *login_token(const struct login *login,
				      const char *field)
{
	for (size_t i = 0; i < login->count; i++) {
		if (strcmp(login->tokens[i].field, field) == 0)
			return &login->tokens[i];
	}
	return NULL;
}

bool login_renewable(const struct login *login)
{
	return login->renew.host && !login->refused &&
	       login_token(login, LOGIN_REFRESH);
}

bool login_has_host(const struct login *login, const char *name, uint16_t port)
{
	return policy_decide_name(login->hosts, name, port).answer ==
	       POLICY_ALLOW;
}

bool login_has_near(const struct login *login,
		    const struct policy_request *request)
{
	return login_has_host(login, request->name, request->port) &&
	       policy_decide_request(login->near, request).answer ==
		       POLICY_DENY;
}

bool login_has_request(const struct login *login,
		       const struct policy_request *request)
{
	return policy_decide_request(login->where, request).answer ==
	       POLICY_ALLOW;
}
