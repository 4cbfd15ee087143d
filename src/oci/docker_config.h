/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_config.h - logins that docker, podman and others have kept
 *
 * ~/.docker/config.json, or containers/auth.json of the same form: "auths"
 * holds logins, "credHelpers" and "credsStore" name programs that know them.
 */
#pragma once

#include <stddef.h>

struct error;

#define LOGIN_USER_MAX 256
#define LOGIN_SECRET_MAX 8192
#define LOGIN_HELPER_MAX 64
#define DOCKER_CONFIG_MAX (1024u * 1024)
/* What docker calls docker.io in its files. */
#define DOCKER_CONFIG_HUB "https://index.docker.io/v1/"

enum login_kind {
	LOGIN_NONE,
	LOGIN_PASSWORD, /* user and secret */
	LOGIN_IDENTITY, /* secret is a token with which tokens are had */
	LOGIN_TOKEN,    /* secret is the token that the registry wants */
};

struct login {
	enum login_kind kind;
	char user[LOGIN_USER_MAX];
	char secret[LOGIN_SECRET_MAX];
};

struct docker_config_answer {
	struct login login;
	/* "pass": docker-credential-pass knows; "" when no program is named */
	char helper[LOGIN_HELPER_MAX];
};

/*
 * What the file says about a registry ("docker.io", "host:port"). Nothing is
 * not an error. A file that is no such file is one. Pure.
 */
int docker_config_find(const void *bytes, size_t len, const char *host,
		       struct docker_config_answer *answer, struct error *err);
/* What a helper printed on `get`. Pure. */
int docker_config_parse_helper(const void *bytes, size_t len,
			       struct login *login, struct error *err);
/* What a helper is asked about this registry. */
const char *docker_config_server(const char *host);
