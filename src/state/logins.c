/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.c - tokens of logins that a guest made, kept on the host
 */
#include "state/logins.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/own.h"
#include "state/services.h"

static const char *const fields[] = { LOGIN_ACCESS, LOGIN_REFRESH, "id_token" };

static bool is_field(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcmp(name, fields[i]) == 0)
			return true;
	}
	return false;
}

static bool is_token(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return len >= LOGIN_TOKEN_MIN && len <= LOGIN_TOKEN_MAX;
}

/* RFC 6749, 3.3. */
static bool is_scope(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\')
			return false;
	}
	return *text && strlen(text) <= LOGIN_SCOPE_MAX;
}

static bool is_pair(json_t *pair)
{
	const char *value, *placeholder;

	/* One that the host renewed may have another length. */
	return json_unpack_ex(pair, NULL, JSON_STRICT, "{s:s, s:s}", "value",
			      &value, "placeholder", &placeholder) == 0 &&
	       is_token(value) && is_token(placeholder) &&
	       strcmp(value, placeholder) != 0;
}

int logins_check(json_t *logins, struct error *err)
{
	const char *name, *field, *scope;
	json_t *login, *tokens, *pair;
	json_int_t set, expires, refused, all;

	if (!json_is_object(logins) || json_object_size(logins) > SERVICES_MAX)
		return error_set(err, 0, "logins");
	json_object_foreach(logins, name, login)
	{
		scope = NULL;
		if (service_check_name(name, err) < 0 ||
		    json_unpack_ex(login, NULL, JSON_STRICT,
				   "{s:I, s:o, s?I, s?I, s?I, s?s}", "set",
				   &set, "tokens", &tokens, "expires", &expires,
				   "refused", &refused, "all", &all, "scope",
				   &scope) < 0 ||
		    !json_is_object(tokens) || (scope && !is_scope(scope)))
			return error_set(err, 0, "a login");
		json_object_foreach(tokens, field, pair)
		{
			if (!is_field(field) || !is_pair(pair))
				return error_set(err, 0, "a token");
		}
	}
	return 0;
}

json_t *logins_of(const json_t *store, const char *service)
{
	return json_object_get(json_object_get(store, "logins"), service);
}

static bool has_token(const json_t *login, const char *field)
{
	return json_object_get(json_object_get(login, "tokens"), field) != NULL;
}

bool login_is_made(const json_t *login)
{
	return has_token(login, LOGIN_ACCESS);
}

bool login_is_renewable(const json_t *login)
{
	return has_token(login, LOGIN_REFRESH) &&
	       !json_object_get(login, "refused");
}

static json_t *tokens_of(const json_t *login)
{
	json_t *list = json_array(), *pair;
	const char *field;

	json_object_foreach(json_object_get(login, "tokens"), field, pair)
		json_array_append_new(
			list,
			json_pack("{s:s, s:O, s:O}", "field", field,
				  "placeholder",
				  json_object_get(pair, "placeholder"), "value",
				  json_object_get(pair, "value")));
	return list;
}

static json_t *entry_of(const json_t *service, const json_t *login)
{
	const json_t *expires = json_object_get(login, "expires");
	json_t *renew = json_object_get(service, SERVICE_RENEW);
	json_t *entry = json_pack("{s:O, s:O, s:o, s:I, s:b}", "name",
				  json_object_get(service, "name"), "endpoints",
				  json_object_get(service, SERVICE_ENDPOINTS),
				  "tokens", tokens_of(login), "expires",
				  json_integer_value(expires), "refused",
				  json_object_get(login, "refused") != NULL);

	if (renew)
		json_object_set(entry, "renew", renew);
	if (json_object_get(login, "scope"))
		json_object_set(entry, "scope",
				json_object_get(login, "scope"));
	return entry;
}

json_t *logins_for(const json_t *services, const json_t *all, const json_t *own,
		   const char *agent)
{
	json_t *list = json_array(), *service;
	size_t i;

	json_array_foreach(services, i, service)
	{
		const char *name =
			json_string_value(json_object_get(service, "name"));
		json_t *login = logins_of(own, name);

		if (!login_is_made(login) && logins_of(all, name))
			login = logins_of(all, name);
		if (!json_array_size(
			    json_object_get(service, SERVICE_ENDPOINTS)) ||
		    (!login && !(agent && services_has_agent(service, agent))))
			continue;
		json_array_append_new(list, entry_of(service, login));
	}
	return list;
}

int logins_expect(json_t *own, const char *service)
{
	json_t *logins = json_object_get(own, "logins");

	if (!logins) {
		logins = json_object();
		json_object_set_new(own, "logins", logins);
	}
	if (json_object_get(logins, service))
		return 0;
	json_object_set_new(logins, service,
			    json_pack("{s:I, s:{}}", "set",
				      (json_int_t)time(NULL), "tokens"));
	return 1;
}

void logins_expect_for_all(json_t *own, const char *service, int64_t until)
{
	logins_expect(own, service);
	json_object_set_new(logins_of(own, service), "all",
			    json_integer(until));
}

bool login_is_for_all(const json_t *login)
{
	return json_integer_value(json_object_get(login, "all")) >
	       (json_int_t)time(NULL);
}

int logins_put(json_t *store, const json_t *services, const char *service,
	       const json_t *tokens, struct error *err)
{
	const json_t *known = services_find(services, service);
	json_t *login, *item;
	size_t i;

	if (!json_array_size(json_object_get(known, SERVICE_ENDPOINTS)) ||
	    !json_array_size(tokens) ||
	    json_array_size(tokens) > ARRAY_SIZE(fields))
		return error_set(err, 0, "tokens of no login");
	logins_expect(store, service);
	login = logins_of(store, service);
	json_object_set_new(login, "set", json_integer(time(NULL)));
	json_object_del(login, "expires");
	json_object_del(login, "refused");
	json_object_del(login, "all");
	json_array_foreach(tokens, i, item)
	{
		const char *field, *placeholder, *value;
		json_t *pair;

		if (json_unpack_ex(item, NULL, JSON_STRICT, "{s:s, s:s, s:s}",
				   "field", &field, "placeholder", &placeholder,
				   "value", &value) < 0)
			return error_set(err, 0, "a token is malformed");
		pair = json_pack("{s:s, s:s}", "value", value, "placeholder",
				 placeholder);
		json_object_set_new(json_object_get(login, "tokens"), field,
				    pair);
	}
	return logins_check(json_object_get(store, "logins"), err);
}

void logins_set_expiry(json_t *store, const char *service, int64_t expires)
{
	json_t *login = logins_of(store, service);

	if (expires > 0)
		json_object_set_new(login, "expires", json_integer(expires));
	else
		json_object_del(login, "expires");
}

void logins_set_scope(json_t *store, const char *service, const char *scope)
{
	json_t *login = logins_of(store, service);

	if (scope && is_scope(scope))
		json_object_set_new(login, "scope", json_string(scope));
	else
		json_object_del(login, "scope");
}

int logins_refuse(json_t *store, const char *service)
{
	json_t *login = logins_of(store, service);

	if (!login || json_object_get(login, "refused"))
		return 0;
	json_object_set_new(login, "refused", json_integer(time(NULL)));
	return 1;
}

int logins_remove(json_t *store, const char *service)
{
	json_t *logins = json_object_get(store, "logins");
	int there = json_object_del(logins, service) == 0;

	if (!json_object_size(logins))
		json_object_del(store, "logins");
	return there;
}
