/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socks5.h - what a SOCKS 5 client says and hears (RFC 1928, RFC 1929)
 *
 * CONNECT only; names are sent as names, so that the proxy resolves them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct target;

#define SOCKS5_MESSAGE_MAX 520 /* two texts of 255 and what is around them */

enum socks5_method {
	SOCKS5_PLAIN = 0,
	SOCKS5_LOGIN = 2,
};

/* Bytes written; all of these fit into SOCKS5_MESSAGE_MAX. */
size_t socks5_encode_greeting(bool has_login, uint8_t *out);
size_t socks5_encode_login(const char *user, const char *password,
			   uint8_t *out);
size_t socks5_encode_connect(const struct target *target, uint8_t *out);

/*
 * The length of the reply; 0: more is needed; -1: it is none, or it refuses.
 */
int socks5_parse_choice(const uint8_t *bytes, size_t len,
			enum socks5_method *out);
int socks5_parse_login_reply(const uint8_t *bytes, size_t len);
int socks5_parse_connect_reply(const uint8_t *bytes, size_t len);
