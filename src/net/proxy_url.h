/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_url.h - the host's proxy settings, read as other programs read them
 *
 * [SCHEME://][USER[:PASSWORD]@]HOST[:PORT][/]. Without a scheme it is http.
 * socks5 and socks5h are the same here: the proxy resolves names. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/authority.h"

#define PROXY_LOGIN_MAX 255 /* of user and of password: SOCKS has one byte */

enum proxy_kind {
	PROXY_HTTP,
	PROXY_HTTPS, /* CONNECT inside TLS */
	PROXY_SOCKS5,
	PROXY_UNUSABLE, /* we do not understand it: nothing may go past it */

	PROXY_KINDS,
};

struct proxy_url {
	enum proxy_kind kind;
	struct authority server; /* with its port */
	char user[PROXY_LOGIN_MAX + 1];
	char password[PROXY_LOGIN_MAX + 1];
	bool has_login;
};

/* Always sets *out; what is not understood is PROXY_UNUSABLE. */
void proxy_url_parse(const char *text, size_t len, struct proxy_url *out);
const char *proxy_kind_name(enum proxy_kind kind);
