/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bindings.c - the secrets that bawn-net may put into requests
 */
#include "net/bindings.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "base/text.h"
#include "net/logins.h"
#include "net/mask.h"
#include "policy/policy.h"
#include "policy/rule.h"
#include "wire/http_fields.h"

#define RULES_MAX ((size_t)1 << 20)
#define BASE64 "base64("

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(bindings, struct bindings *, bindings_unref)

static int refuse(struct error *err, const char *what)
{
	return error_set(err, 0, "secrets: %s", what);
}

static bool is_list(const json_t *list)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > BINDING_LIST_MAX)
		return false;
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);

		/* One word, or it would be more than one in a rule. */
		if (!text || !*text || text[strcspn(text, " \t\r\n#")])
			return false;
	}
	return true;
}

/* The name of a host; no address, not every name, no path. */
static bool is_host(const char *text)
{
	struct policy_rule rule;
	bool good;

	if (strchr(text, '/') ||
	    rule_parse(text, strlen(text), RULE_ALLOW, &rule, NULL) < 0)
		return false;
	good = !rule.path && rule.host.kind != HOST_ANY &&
	       rule.host.kind != HOST_ADDRESS &&
	       rule.host.kind != HOST_LOCALHOST;
	rule_release(&rule);
	return good;
}

static void add_rule(struct buffer *text, const char *verdict, const char *host,
		     const char *methods, const char *path)
{
	/* What does not fit allows nothing: it fails closed. */
	(void)buffer_printf(text, "%s %s%s%s%s\n", verdict, methods,
			    *methods ? " " : "", host, path);
}

/* Where a secret may stand. */
struct place {
	const json_t *hosts, *paths, *except; /* the last two may be NULL */
	const char *methods;
};

static void add_rules(struct buffer *text, const char *verdict,
		      const char *host, const char *methods,
		      const json_t *paths)
{
	json_t *path;
	size_t i;

	json_array_foreach(paths, i, path)
		add_rule(text, verdict, host, methods, json_string_value(path));
}

/* As a policy of its own. What is excepted comes first: it must fit. */
static struct policy *compile(const struct place *place, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RULES_MAX);
	struct policy_source source = { .scope = POLICY_GLOBAL,
					.name = "secrets" };
	json_t *host;
	size_t i;

	json_array_foreach(place->hosts, i, host)
	{
		if (!is_host(json_string_value(host))) {
			refuse(err, "a host is no name");
			return NULL;
		}
		add_rules(&text, "deny", json_string_value(host), "",
			  place->except);
	}
	json_array_foreach(place->hosts, i, host)
	{
		if (!json_array_size(place->paths))
			add_rule(&text, "allow", json_string_value(host),
				 place->methods, "");
		add_rules(&text, "allow", json_string_value(host),
			  place->methods, place->paths);
	}
	source.text = text.len ? (const char *)text.data : "";
	source.len = text.len;
	return policy_compile(&source, 1, err);
}

static int join_methods(const json_t *list, char *out, size_t size)
{
	json_t *item;
	size_t i;

	out[0] = '\0';
	json_array_foreach(list, i, item)
	{
		size_t len = strlen(out);

		if (text_format(out + len, size - len, "%s%s", i ? "," : "",
				json_string_value(item)) < 0)
			return -1;
	}
	return 0;
}

/* "Basic base64(user:%s)" in its parts. */
static int split_format(const char *format, struct binding_header *out)
{
	const char *hole = strstr(format, "%s");
	const char *coded = strstr(format, BASE64);
	const char *end = format + strlen(format);

	if (!hole || strstr(hole + 1, "%s") ||
	    !http_is_value(span_over(format, strlen(format))))
		return -1;
	out->base64 = coded != NULL;
	if (!coded) {
		out->before = xstrndup(format, (size_t)(hole - format));
		out->after = xstrdup(hole + 2);
		out->inner = xstrdup("");
		out->inner_after = xstrdup("");
		return 0;
	}
	if (coded > hole || end[-1] != ')')
		return -1;
	out->before = xstrndup(format, (size_t)(coded - format));
	out->after = xstrdup("");
	coded += strlen(BASE64);
	out->inner = xstrndup(coded, (size_t)(hole - coded));
	out->inner_after = xstrndup(hole + 2, (size_t)(end - hole - 3));
	return 0;
}

static int read_header(json_t *json, struct binding_header *out,
		       struct error *err)
{
	const char *name, *format;
	json_t *hosts = NULL;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s?o}", "name",
			   &name, "format", &format, "hosts", &hosts) < 0 ||
	    !http_is_token(span_of(name)))
		return refuse(err, "a header is malformed");
	out->name = xstrdup(name);
	for (char *p = out->name; *p; p++)
		*p = span_small(*p);
	if (split_format(format, out) < 0)
		return refuse(err, "a format is malformed");
	if (!hosts)
		return 0;
	if (!is_list(hosts))
		return refuse(err, "hosts of a header");
	out->hosts =
		compile(&(struct place){ .hosts = hosts, .methods = "" }, err);
	return out->hosts ? 0 : -1;
}

static int read_headers(json_t *list, struct binding *out, struct error *err)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || !json_array_size(list) ||
	    json_array_size(list) > BINDING_LIST_MAX)
		return refuse(err, "headers is no list");
	out->headers = xcalloc(json_array_size(list), sizeof(*out->headers));
	json_array_foreach(list, i, item)
	{
		out->header_count++;
		if (read_header(item, &out->headers[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_value(const json_t *value, struct binding *out,
		      struct error *err)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (json_is_null(value))
		return 0;
	if (!text || !len || strlen(text) != len)
		return refuse(err, "a value is malformed");
	for (size_t i = 0; i < len; i++) {
		/* It may stand in a query too. */
		if (text[i] <= ' ' || text[i] > '~')
			return refuse(err, "a value is malformed");
	}
	out->value = secret_new(text, len, err);
	if (!out->value)
		return -1;
	out->forms = mask_forms_new(text, len, err);
	return out->forms ? 0 : -1;
}

static char **copy_texts(const json_t *list)
{
	size_t count = json_array_size(list);
	char **texts = xcalloc(count + 1, sizeof(char *));

	for (size_t i = 0; i < count; i++)
		texts[i] = xstrdup(json_string_value(json_array_get(list, i)));
	return texts;
}

static bool are_questions(const json_t *list)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > BINDING_LIST_MAX)
		return false;
	json_array_foreach(list, i, item)
	{
		const char *text = json_string_value(item);
		const char *body = text ? strchr(text, ' ') : NULL;

		if (!body || *text != '/' || !body[1] ||
		    strlen(text) > BINDING_QUESTION_MAX)
			return false;
	}
	return true;
}

static int read_binding(json_t *json, struct binding *out, struct error *err)
{
	json_t *value, *why, *hosts, *headers, *query, *methods, *paths;
	json_t *except = NULL, *questions = NULL;
	const char *name, *placeholder;
	char method_text[256];
	int plain;

	if (json_unpack_ex(
		    json, NULL, JSON_STRICT,
		    "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s?o, s?o, "
		    "s:b}",
		    "name", &name, "placeholder", &placeholder, "value", &value,
		    "why", &why, "hosts", &hosts, "headers", &headers, "query",
		    &query, "methods", &methods, "paths", &paths, "except",
		    &except, "questions", &questions, "plain_http", &plain) < 0)
		return refuse(err, "an entry is malformed");
	if (!is_list(hosts) || !json_array_size(hosts) || !is_list(query) ||
	    !is_list(methods) || !is_list(paths) ||
	    (except && !is_list(except)) ||
	    (questions && !are_questions(questions)) ||
	    strlen(placeholder) < 8 ||
	    join_methods(methods, method_text, sizeof(method_text)) < 0)
		return refuse(err, "a list is malformed");
	out->name = xstrdup(name);
	out->placeholder = xstrdup(placeholder);
	out->plain_http = plain;
	if (json_is_string(why))
		out->why = xstrdup(json_string_value(why));
	out->query = copy_texts(query);
	out->questions = copy_texts(questions);
	if (read_value(value, out, err) < 0 ||
	    read_headers(headers, out, err) < 0)
		return -1;
	out->hosts =
		compile(&(struct place){ .hosts = hosts, .methods = "" }, err);
	out->where = out->hosts ? compile(&(struct place){ hosts, paths, except,
							   method_text },
					  err)
				: NULL;
	return out->where ? 0 : -1;
}

static int read_logins(const json_t *list, struct bindings *bindings,
		       struct error *err)
{
	json_t *item;
	size_t i;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > LOGINS_MAX)
		return refuse(err, "logins are no list");
	bindings->logins =
		xcalloc(json_array_size(list) + 1, sizeof(*bindings->logins));
	json_array_foreach(list, i, item)
	{
		bindings->login_count++;
		if (login_read(item, &bindings->logins[i], err) < 0)
			return -1;
	}
	return 0;
}

struct bindings *bindings_parse(const void *bytes, size_t len,
				struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	json_t *list = json_object_get(root, "secrets"), *item;
	json_t *logins = json_object_get(root, "logins");
	AUTO(bindings) struct bindings *bindings = NULL;
	size_t i;

	if (!json_is_array(list) ||
	    json_object_size(root) != 1 + (size_t)(logins != NULL) ||
	    json_array_size(list) > BINDINGS_MAX) {
		refuse(err, "not a list");
		return NULL;
	}
	bindings = xcalloc(1, sizeof(*bindings));
	bindings->references = 1;
	bindings->list =
		xcalloc(json_array_size(list) + 1, sizeof(*bindings->list));
	json_array_foreach(list, i, item)
	{
		bindings->count++;
		if (read_binding(item, &bindings->list[i], err) < 0)
			return NULL;
	}
	if (read_logins(logins, bindings, err) < 0)
		return NULL;
	return TAKE_PTR(bindings);
}

struct bindings *bindings_read(int fd, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(BINDINGS_BYTES_MAX);
	struct bindings *bindings = NULL;

	if (lseek(fd, 0, SEEK_SET) < 0)
		error_set(err, errno, "secrets");
	else if (fileio_read_fd(fd, &text, err) == 0)
		bindings = bindings_parse(text.data, text.len, err);
	secret_wipe(text.data, text.len);
	return bindings;
}

static void release_header(struct binding_header *header)
{
	free(header->name);
	free(header->before);
	free(header->after);
	free(header->inner);
	free(header->inner_after);
	policy_free(header->hosts);
}

static void release_binding(struct binding *binding)
{
	for (size_t i = 0; i < binding->header_count; i++)
		release_header(&binding->headers[i]);
	for (char **key = binding->query; key && *key; key++)
		free(*key);
	for (char **one = binding->questions; one && *one; one++)
		free(*one);
	free(binding->headers);
	free(binding->query);
	free(binding->questions);
	free(binding->name);
	free(binding->placeholder);
	free(binding->why);
	secret_free(binding->value);
	mask_forms_free(binding->forms);
	policy_free(binding->hosts);
	policy_free(binding->where);
}

struct bindings *bindings_ref(struct bindings *bindings)
{
	if (bindings)
		bindings->references++;
	return bindings;
}

void bindings_unref(struct bindings *bindings)
{
	if (!bindings || --bindings->references)
		return;
	for (size_t i = 0; i < bindings->count; i++)
		release_binding(&bindings->list[i]);
	for (size_t i = 0; i < bindings->login_count; i++)
		login_release(&bindings->logins[i]);
	free(bindings->logins);
	free(bindings->list);
	free(bindings);
}

bool binding_has_host(const struct binding *binding, const char *name,
		      uint16_t port)
{
	return policy_decide_name(binding->hosts, name, port).answer ==
	       POLICY_ALLOW;
}

bool bindings_have_host(const struct bindings *bindings, const char *name,
			uint16_t port)
{
	for (size_t i = 0; bindings && i < bindings->count; i++) {
		if (binding_has_host(&bindings->list[i], name, port))
			return true;
	}
	return false;
}

bool binding_header_is_for(const struct binding_header *header,
			   const char *name, uint16_t port)
{
	return !header->hosts ||
	       policy_decide_name(header->hosts, name, port).answer ==
		       POLICY_ALLOW;
}

const struct binding *bindings_find(const struct bindings *bindings,
				    const char *name)
{
	for (size_t i = 0; bindings && i < bindings->count; i++) {
		if (strcmp(bindings->list[i].name, name) == 0)
			return &bindings->list[i];
	}
	return NULL;
}

bool bindings_have_login(const struct bindings *bindings, const char *name,
			 uint16_t port)
{
	for (size_t i = 0; bindings && i < bindings->login_count; i++) {
		if (login_has_host(&bindings->logins[i], name, port))
			return true;
	}
	return false;
}

const struct login *bindings_login(const struct bindings *bindings,
				   const struct policy_request *request)
{
	for (size_t i = 0; bindings && i < bindings->login_count; i++) {
		if (login_has_near(&bindings->logins[i], request))
			return &bindings->logins[i];
	}
	return NULL;
}
