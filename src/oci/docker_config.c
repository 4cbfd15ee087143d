/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_config.c - logins that docker, podman and others have kept
 */
#include "oci/docker_config.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/base64.h"
#include "oci/reference.h"

AUTO_DEFINE(json, json_t *, json_decref)

const char *docker_config_server(const char *host)
{
	return strcmp(host, REFERENCE_DEFAULT_HOST) == 0 ? DOCKER_CONFIG_HUB
							 : host;
}

/* Keys are "host", "https://host", "https://host/v1/" or "host/v2/". */
static bool key_is_for(const char *key, const char *host)
{
	size_t len;

	if (strcmp(host, REFERENCE_DEFAULT_HOST) == 0 &&
	    (strcmp(key, DOCKER_CONFIG_HUB) == 0 ||
	     strcmp(key, "index.docker.io") == 0 ||
	     strcmp(key, "registry-1.docker.io") == 0))
		return true;
	if (text_starts(key, "https://"))
		key += strlen("https://");
	else if (text_starts(key, "http://"))
		key += strlen("http://");
	len = strcspn(key, "/");
	return strlen(host) == len && strncmp(key, host, len) == 0 &&
	       (!key[len] || strcmp(key + len, "/") == 0 ||
		text_starts(key + len, "/v1") || text_starts(key + len, "/v2"));
}

/* An exact key wins over one that only means the same. */
static json_t *find_key(const json_t *object, const char *host)
{
	json_t *found = json_object_get(object, docker_config_server(host));
	const char *key;
	json_t *value;

	if (found || !json_is_object(object))
		return found;
	json_object_foreach((json_t *)object, key,
			    value) if (key_is_for(key, host)) return value;
	return NULL;
}

static int copy_text(const json_t *object, const char *key, char *to,
		     size_t size, struct error *err)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text && text_copy(to, size, text) < 0)
		return error_set(err, 0, "\"%s\" is too long", key);
	return text && *text;
}

/* base64 of "user:password" */
static int take_auth(const char *text, struct login *login, struct error *err)
{
	char plain[LOGIN_USER_MAX + LOGIN_SECRET_MAX];
	ssize_t len = base64_read(text, strlen(text), plain, sizeof(plain) - 1);
	char *colon;

	if (len < 0)
		return error_set(err, 0, "\"auth\" is malformed");
	plain[len] = '\0';
	colon = strchr(plain, ':');
	if (!colon || strlen(plain) != (size_t)len)
		return error_set(err, 0, "\"auth\" is malformed");
	*colon = '\0';
	if (text_copy(login->user, sizeof(login->user), plain) < 0 ||
	    text_copy(login->secret, sizeof(login->secret), colon + 1) < 0)
		return error_set(err, 0, "\"auth\" is too long");
	login->kind = LOGIN_PASSWORD;
	explicit_bzero(plain, sizeof(plain));
	return 0;
}

static int take_login(const json_t *entry, struct login *login,
		      struct error *err)
{
	const char *auth = json_string_value(json_object_get(entry, "auth"));
	int user, password, token;

	token = copy_text(entry, "registrytoken", login->secret,
			  sizeof(login->secret), err);
	if (token)
		login->kind = LOGIN_TOKEN;
	if (token)
		return token < 0 ? -1 : 0;
	token = copy_text(entry, "identitytoken", login->secret,
			  sizeof(login->secret), err);
	if (token)
		login->kind = LOGIN_IDENTITY;
	if (token)
		return token < 0 ? -1 : 0;
	if (auth && *auth)
		return take_auth(auth, login, err);
	user = copy_text(entry, "username", login->user, sizeof(login->user),
			 err);
	password = copy_text(entry, "password", login->secret,
			     sizeof(login->secret), err);
	if (user < 0 || password < 0)
		return -1;
	login->kind = user && password ? LOGIN_PASSWORD : LOGIN_NONE;
	return 0;
}

/* It becomes part of a program's name. */
static int take_helper(const json_t *name, char helper[LOGIN_HELPER_MAX],
		       struct error *err)
{
	const char *text = json_string_value(name);

	if (!text || !*text)
		return 0;
	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] ||
	    text_copy(helper, LOGIN_HELPER_MAX, text) < 0)
		return error_set(
			err, 0, "the name of a credential helper is malformed");
	return 0;
}

int docker_config_find(const void *bytes, size_t len, const char *host,
		       struct docker_config_answer *answer, struct error *err)
{
	AUTO(json) json_t *root = NULL;
	json_t *helper;

	memset(answer, 0, sizeof(*answer));
	root = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	if (!json_is_object(root))
		return error_set(err, 0, "not a JSON object");
	helper = find_key(json_object_get(root, "credHelpers"), host);
	if (!helper)
		helper = json_object_get(root, "credsStore");
	if (take_helper(helper, answer->helper, err) < 0)
		return -1;
	return take_login(find_key(json_object_get(root, "auths"), host),
			  &answer->login, err);
}

int docker_config_parse_helper(const void *bytes, size_t len,
			       struct login *login, struct error *err)
{
	AUTO(json) json_t *root = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	int user, secret;

	memset(login, 0, sizeof(*login));
	if (!json_is_object(root))
		return error_set(err, 0, "it did not answer with JSON");
	user = copy_text(root, "Username", login->user, sizeof(login->user),
			 err);
	secret = copy_text(root, "Secret", login->secret, sizeof(login->secret),
			   err);
	if (user < 0 || secret < 0)
		return -1;
	if (!secret)
		return 0;
	login->kind = strcmp(login->user, "<token>") == 0 ? LOGIN_IDENTITY
							  : LOGIN_PASSWORD;
	return 0;
}
