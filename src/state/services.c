/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.c - data/services.json: who takes which key, and where
 */
#include "state/services.h"

#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/data_list.h"

AUTO_DEFINE(json, json_t *, json_decref)

static const char token_marks[] = "!#$%&'*+-.^_`|~";

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

int service_check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);
	bool good = len > 0 && len <= SERVICE_NAME_MAX && is_alnum(name[0]);

	for (size_t i = 0; i < len; i++)
		good &= (is_alnum(name[i]) || strchr("._-", name[i])) &&
			!(name[i] >= 'A' && name[i] <= 'Z');
	if (good)
		return 0;
	return error_set(err, 0,
			 "a name has 1 to %d of a-z, 0-9, '.', '_' and '-'",
			 SERVICE_NAME_MAX);
}

/* Printable ASCII without a space: fit for a rule and for a log. */
static bool is_word(const json_t *json)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);

	if (!text || !len || len > SERVICE_TEXT_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '#')
			return false;
	}
	return true;
}

int service_check_texts(const json_t *list, const char *what, struct error *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > SERVICE_LIST_MAX)
		return error_set(err, 0, "%s: a list of at most %d", what,
				 SERVICE_LIST_MAX);
	json_array_foreach(list, i, item)
	{
		if (!is_word(item))
			return error_set(err, 0, "%s: a text without spaces",
					 what);
	}
	return 0;
}

static bool is_token(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (!is_alnum(*p) && !strchr(token_marks, *p))
			return false;
	}
	return *text && strlen(text) <= SERVICE_TEXT_MAX;
}

static bool is_format(const char *text)
{
	const char *hole = strstr(text, "%s");
	const char *base64 = strstr(text, "base64(");

	for (const char *p = text; *p; p++) {
		if (*p < ' ' || *p > '~')
			return false;
	}
	if (!hole || strchr(text, '%') != hole || strchr(hole + 1, '%') ||
	    strlen(text) > SERVICE_TEXT_MAX)
		return false;
	return !base64 || (base64 < hole && text_ends(text, ")"));
}

int service_check_header(const json_t *header, struct error *err)
{
	const char *name, *format;
	json_t *hosts = NULL;

	if (json_unpack_ex((json_t *)header, NULL, JSON_STRICT,
			   "{s:s, s:s, s?o}", "name", &name, "format", &format,
			   "hosts", &hosts) < 0 ||
	    !is_token(name))
		return error_set(err, 0, "a header has a name and a format");
	if (!is_format(format))
		return error_set(err, 0,
				 "the format of header %s has one %%s, and "
				 "base64() ends it",
				 name);
	return hosts ? service_check_texts(hosts, "hosts", err) : 0;
}

static int check_placeholder(json_t *json, struct error *err)
{
	const char *prefix;
	json_int_t length;
	size_t len;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:I}", "prefix",
			   &prefix, "length", &length) < 0)
		return error_set(err, 0, "placeholder: prefix and length");
	len = strlen(prefix);
	for (const char *p = prefix; *p; p++) {
		if (!is_alnum(*p) && !strchr("._-", *p))
			return error_set(err, 0, "placeholder: prefix");
	}
	/* The rest is random: enough of it, or it could be guessed or met. */
	if (length > SERVICE_PLACEHOLDER_MAX ||
	    length < (json_int_t)len + SERVICE_PLACEHOLDER_MIN)
		return error_set(err, 0, "placeholder: length");
	return 0;
}

static int check_headers(json_t *list, struct error *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || !json_array_size(list) ||
	    json_array_size(list) > SERVICE_LIST_MAX)
		return error_set(err, 0, "headers: a list");
	json_array_foreach(list, i, item)
	{
		if (service_check_header(item, err) < 0)
			return -1;
	}
	return 0;
}

/* Fields are told as they are: nothing in them needs an escape. */
static bool is_plain(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (!is_alnum(*p) && !strchr("-._~:", *p))
			return false;
	}
	return *text && strlen(text) <= SERVICE_TEXT_MAX;
}

static bool has_text(const json_t *list, const char *text);

static int check_renew(json_t *renew, const json_t *endpoints,
		       struct error *err)
{
	const char *endpoint, *type, *name;
	json_t *fields, *value;
	int scope;

	if (json_unpack_ex(renew, NULL, JSON_STRICT, "{s:s, s:s, s:o, s?b}",
			   "endpoint", &endpoint, "type", &type, "fields",
			   &fields, "scope", &scope) < 0 ||
	    !json_is_object(fields) ||
	    json_object_size(fields) > SERVICE_LIST_MAX ||
	    (strcmp(type, "json") != 0 && strcmp(type, "form") != 0))
		return error_set(err, 0, "renew: endpoint, type and fields");
	if (!has_text(endpoints, endpoint))
		return error_set(err, 0, "renew: no token endpoint");
	json_object_foreach(fields, name, value)
	{
		if (!is_plain(name) || !json_is_string(value) ||
		    !is_plain(json_string_value(value)))
			return error_set(err, 0, "renew: plain fields");
	}
	return 0;
}

/* "PATH BODY" */
static int check_questions(const json_t *list, struct error *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > SERVICE_LIST_MAX)
		return error_set(err, 0, "questions: a list");
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);
		const char *body = text ? strchr(text, ' ') : NULL;

		if (!body || *text != '/' || !body[1] ||
		    strlen(text) > SERVICE_QUESTION_MAX)
			return error_set(err, 0, "questions: a path, a body");
	}
	return 0;
}

static int check_service(json_t *service, struct error *err)
{
	json_t *hosts, *headers, *variables, *placeholder, *renew = NULL;
	json_t *questions = NULL;
	json_t *lists[8] = { NULL };
	static const char *const names[] = {
		"query",  "methods",         "paths",           "repo_paths",
		"agents", SERVICE_ENDPOINTS, SERVICE_CALLBACKS, SERVICE_EXCEPT
	};
	const char *name;
	json_error_t why;

	if (json_unpack_ex(service, &why, JSON_STRICT,
			   "{s:s, s:o, s:o, s:o, s:o, s?o, s?o, s?o, s?o, s?o, "
			   "s?o, s?o, s?o, s?o, s?o}",
			   "name", &name, "hosts", &hosts, "headers", &headers,
			   "variables", &variables, "placeholder", &placeholder,
			   names[0], &lists[0], names[1], &lists[1], names[2],
			   &lists[2], names[3], &lists[3], names[4], &lists[4],
			   names[5], &lists[5], names[6], &lists[6], names[7],
			   &lists[7], SERVICE_RENEW, &renew, SERVICE_QUESTIONS,
			   &questions) < 0)
		return error_set(err, 0, "service: %s", why.text);
	if (service_check_name(name, err) < 0 ||
	    service_check_texts(hosts, "hosts", err) < 0 ||
	    service_check_texts(variables, "variables", err) < 0 ||
	    check_headers(headers, err) < 0 ||
	    check_placeholder(placeholder, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (lists[i] && service_check_texts(lists[i], names[i], err))
			return -1;
	}
	if ((renew && check_renew(renew, lists[5], err) < 0) ||
	    (questions && check_questions(questions, err) < 0))
		return -1;
	return json_array_size(hosts) ? 0 : error_set(err, 0, "no hosts");
}

json_t *services_parse(const void *bytes, size_t len, struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	json_t *list = json_object_get(root, "services"), *item;
	size_t i;

	if (!json_is_array(list) || json_object_size(root) != 1 ||
	    json_array_size(list) > SERVICES_MAX) {
		error_set(err, 0, "not {\"services\": [...]}");
		return NULL;
	}
	json_array_foreach(list, i, item)
	{
		if (check_service(item, err) < 0)
			return NULL;
	}
	return json_incref(list);
}

json_t *services_find(const json_t *list, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(json_object_get(item, "name")),
			   name) == 0)
			return item;
	}
	return NULL;
}

static bool has_text(const json_t *list, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

json_t *services_of_variable(const json_t *list, const char *variable)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (has_text(json_object_get(item, "variables"), variable))
			return item;
	}
	return NULL;
}

bool services_has_agent(const json_t *service, const char *agent)
{
	return has_text(json_object_get(service, "agents"), agent);
}

int services_merge(json_t *list, const json_t *more, struct error *err)
{
	json_t *item, *old;
	size_t i;

	json_array_foreach(more, i, item)
	{
		old = services_find(
			list, json_string_value(json_object_get(item, "name")));
		if (old == item)
			continue;
		if (old) {
			json_object_clear(old);
			json_object_update(old, item);
		} else if (json_array_size(list) >= SERVICES_MAX ||
			   json_array_append(list, item) < 0) {
			return error_set(err, 0, "too many services");
		}
	}
	return 0;
}

static const struct data_list kind = {
	.file = SERVICES_FILE,
	.folder = SERVICES_FOLDER,
	.bytes_max = SERVICE_BYTES_MAX,
	.parse = services_parse,
	.merge = services_merge,
};

json_t *services_load_from(const char *file, const char *folder,
			   struct error *err)
{
	return data_list_load_from(&kind, file, folder, err);
}

json_t *services_load(struct error *err)
{
	return data_list_load(&kind, err);
}
