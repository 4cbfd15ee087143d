/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_store.c - the secrets of one scope, on the host's disk
 */
#include "state/secret_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "base/text.h"
#include "state/paths.h"
#include "state/services.h"

#define VERSION 1

AUTO_DEFINE(json, json_t *, json_decref)

void secret_store_wipe_json(void)
{
	json_set_alloc_funcs(xmalloc, secret_free_memory);
}

int secret_store_check_value(const char *value, size_t *len, struct error *err)
{
	while (*len && (value[*len - 1] == '\n' || value[*len - 1] == '\r'))
		(*len)--;
	if (!*len)
		return error_set(err, 0, "the secret is empty");
	if (*len > SECRET_STORE_VALUE_MAX)
		return error_set(err, 0, "a secret has at most %d bytes",
				 SECRET_STORE_VALUE_MAX);
	/* It becomes a header: visible ASCII, as every such key is. */
	for (size_t i = 0; i < *len; i++) {
		if (value[i] <= ' ' || value[i] > '~')
			return error_set(err, 0,
					 "the secret has a space or a control "
					 "or non-ASCII byte in it");
	}
	return 0;
}

static int check_source(const char *name, const char *value,
			const char *command, struct error *err)
{
	size_t len = value ? strlen(value) : 0;

	if (!value == !command)
		return error_set(err, 0, "%s: a value or a command", name);
	if (value && secret_store_check_value(value, &len, err) < 0)
		return error_prefix(err, "%s", name);
	if (value && len != strlen(value))
		return error_set(err, 0, "%s: a line feed", name);
	if (command &&
	    (!*command || strlen(command) > SECRET_STORE_COMMAND_MAX))
		return error_set(err, 0, "%s: a command of at most %d bytes",
				 name, SECRET_STORE_COMMAND_MAX);
	return 0;
}

int secret_store_check(json_t *secret, struct error *err)
{
	const char *name, *value = NULL, *command = NULL;
	json_t *hosts = NULL, *headers = NULL, *variables = NULL, *repos = NULL;
	json_int_t cache_s = SECRET_STORE_CACHE_S, set;
	int plain = 0;
	json_error_t why;
	json_t *item;
	size_t i;

	if (json_unpack_ex(secret, &why, JSON_STRICT,
			   "{s:s, s:I, s?s, s?s, s?I, s?o, s?o, s?o, s?o, s?b}",
			   "name", &name, "set", &set, "value", &value,
			   "command", &command, "cache_s", &cache_s, "hosts",
			   &hosts, "headers", &headers, "variables", &variables,
			   "repos", &repos, "plain_http", &plain) < 0)
		return error_set(err, 0, "a secret: %s", why.text);
	if (service_check_name(name, err) < 0 ||
	    check_source(name, value, command, err) < 0 ||
	    (hosts && service_check_texts(hosts, "hosts", err) < 0) ||
	    (variables &&
	     service_check_texts(variables, "variables", err) < 0) ||
	    (repos && service_check_texts(repos, "repos", err) < 0))
		return -1;
	if (cache_s < 1 || cache_s > SECRET_STORE_CACHE_MAX_S)
		return error_set(err, 0, "%s: cache_s", name);
	if (headers && (!json_is_array(headers) || !json_array_size(headers) ||
			json_array_size(headers) > SERVICE_LIST_MAX))
		return error_set(err, 0, "%s: headers", name);
	json_array_foreach(headers, i, item)
	{
		if (service_check_header(item, err) < 0)
			return -1;
	}
	return 0;
}

static int check_placeholders(json_t *list, struct error *err)
{
	const char *name;
	json_t *text;

	if (!json_is_object(list) ||
	    json_object_size(list) > SECRET_STORE_SECRETS_MAX)
		return error_set(err, 0, "placeholders");
	json_object_foreach(list, name, text)
	{
		size_t len = json_string_length(text);

		if (service_check_name(name, err) < 0 ||
		    !json_is_string(text) || len < SERVICE_PLACEHOLDER_MIN ||
		    len > SERVICE_PLACEHOLDER_MAX ||
		    secret_store_check_value(json_string_value(text), &len,
					     err) < 0)
			return error_set(err, 0, "a placeholder");
	}
	return 0;
}

static json_t *empty(void)
{
	return json_pack("{s:i, s:[], s:{}}", "version", VERSION, "secrets",
			 "placeholders");
}

json_t *secret_store_parse(const void *bytes, size_t len, struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	json_t *list, *placeholders, *item, *repos = NULL;
	int version;
	size_t i;

	if (!root ||
	    json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:o, s:o, s?o}",
			   "version", &version, "secrets", &list,
			   "placeholders", &placeholders, "repos",
			   &repos) < 0 ||
	    !json_is_array(list) ||
	    json_array_size(list) > SECRET_STORE_SECRETS_MAX) {
		error_set(err, 0, "not a file of secrets");
		return NULL;
	}
	if (version != VERSION) {
		error_set(err, 0, "version %d is not known", version);
		return NULL;
	}
	if (repos && service_check_texts(repos, "repos", err) < 0)
		return NULL;
	json_array_foreach(list, i, item)
	{
		if (secret_store_check(item, err) < 0)
			return NULL;
		if (secret_store_find(root, json_string_value(json_object_get(
						    item, "name"))) != item) {
			error_set(err, 0, "a secret is there twice");
			return NULL;
		}
	}
	return check_placeholders(placeholders, err) < 0 ? NULL
							 : TAKE_PTR(root);
}

int secret_store_open(struct error *err)
{
	return paths_open(PATHS_STATE, SECRET_STORE_FOLDER, err);
}

int secret_store_lock(int folder, struct error *err)
{
	return fileio_lock(folder, "lock", FILEIO_LOCK_WAIT, err);
}

static int file_name(const char *scope, char out[80], struct error *err)
{
	if (!*scope || strchr(scope, '/') || *scope == '.' ||
	    text_format(out, 80, "%s.json", scope) < 0)
		return error_set(err, 0, "no such scope");
	return 0;
}

static int read_file(int folder, const char *name, struct buffer *text,
		     struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return error_set(err, 0, "%s: others can read it (chmod 600)",
				 name);
	return fileio_read_fd(fd, text, err);
}

json_t *secret_store_load(int folder, const char *scope, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(SECRET_STORE_BYTES_MAX);
	struct error own = { 0 };
	json_t *store = NULL;
	char name[80];

	if (file_name(scope, name, err) < 0)
		return NULL;
	if (read_file(folder, name, &text, &own) < 0) {
		if (own.code == ENOENT)
			return empty();
		error_set(err, 0, "%s/%s", SECRET_STORE_FOLDER, own.text);
	} else {
		store = secret_store_parse(text.data, text.len, err);
		if (!store)
			error_prefix(err, "%s/%s", SECRET_STORE_FOLDER, name);
	}
	secret_wipe(text.data, text.len);
	return store;
}

int secret_store_save(int folder, const char *scope, const json_t *store,
		      struct error *err)
{
	AUTO_FREE char *text = NULL;
	char name[80];
	int result;

	if (file_name(scope, name, err) < 0)
		return -1;
	if (!json_array_size(json_object_get(store, "secrets")) &&
	    !json_object_size(json_object_get(store, "placeholders")) &&
	    !json_array_size(json_object_get(store, "repos"))) {
		secret_store_forget(folder, scope);
		return 0;
	}
	text = json_dumps(store, JSON_INDENT(2));
	if (!text)
		return error_set(err, 0, "%s", name);
	result = strlen(text) > SECRET_STORE_BYTES_MAX
			 ? error_set(err, E2BIG, "%s", name)
			 : fileio_replace(folder, name, text, strlen(text),
					  0600, FILEIO_SYNC, err);
	secret_wipe_text(text);
	return result;
}

void secret_store_forget(int folder, const char *scope)
{
	char name[80];

	if (file_name(scope, name, NULL) == 0)
		unlinkat(folder, name, 0);
}

static const char *name_of(const json_t *secret)
{
	return json_string_value(json_object_get(secret, "name"));
}

json_t *secret_store_find(const json_t *store, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(store, "secrets"), i, item)
	{
		if (strcmp(name_of(item), name) == 0)
			return item;
	}
	return NULL;
}

int secret_store_put(json_t *store, json_t *secret, struct error *err)
{
	AUTO(json) json_t *owned = secret;
	json_t *list = json_object_get(store, "secrets");

	if (secret_store_check(secret, err) < 0)
		return -1;
	secret_store_remove(store, name_of(secret));
	if (json_array_size(list) >= SECRET_STORE_SECRETS_MAX)
		return error_set(err, E2BIG, "secrets");
	json_array_append_new(list, TAKE_PTR(owned));
	return 0;
}

int secret_store_remove(json_t *store, const char *name)
{
	json_t *list = json_object_get(store, "secrets"), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (strcmp(name_of(item), name) != 0)
			continue;
		json_array_remove(list, i);
		return 1;
	}
	return 0;
}
