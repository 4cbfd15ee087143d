/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socks5.c - what a SOCKS 5 client says and hears
 */
#include "net/socks5.h"

#include <string.h>

#include "net/target.h"
#include "proto/cursor.h"

enum {
	VERSION = 5,
	LOGIN_VERSION = 1,
	COMMAND_CONNECT = 1,
	TYPE_V4 = 1,
	TYPE_NAME = 3,
	TYPE_V6 = 4,
};

static void put_short_text(struct writer *w, const char *text)
{
	size_t len = strlen(text);

	if (len > UINT8_MAX)
		len = UINT8_MAX;
	writer_u8(w, (uint8_t)len);
	writer_bytes(w, text, len);
}

size_t socks5_encode_greeting(bool has_login, uint8_t *out)
{
	struct writer w = writer_over(out, SOCKS5_MESSAGE_MAX);

	writer_u8(&w, VERSION);
	writer_u8(&w, has_login ? 2 : 1);
	writer_u8(&w, SOCKS5_PLAIN);
	if (has_login)
		writer_u8(&w, SOCKS5_LOGIN);
	return writer_len(&w);
}

size_t socks5_encode_login(const char *user, const char *password, uint8_t *out)
{
	struct writer w = writer_over(out, SOCKS5_MESSAGE_MAX);

	writer_u8(&w, LOGIN_VERSION);
	put_short_text(&w, user);
	put_short_text(&w, password);
	return writer_len(&w);
}

size_t socks5_encode_connect(const struct target *target, uint8_t *out)
{
	struct writer w = writer_over(out, SOCKS5_MESSAGE_MAX);

	writer_u8(&w, VERSION);
	writer_u8(&w, COMMAND_CONNECT);
	writer_u8(&w, 0);
	if (target->name) {
		writer_u8(&w, TYPE_NAME);
		put_short_text(&w, target->name);
	} else if (target->address.family == ADDRESS_V4) {
		writer_u8(&w, TYPE_V4);
		writer_bytes(&w, target->address.bytes, 4);
	} else {
		writer_u8(&w, TYPE_V6);
		writer_bytes(&w, target->address.bytes, 16);
	}
	writer_u8(&w, (uint8_t)(target->port >> 8));
	writer_u8(&w, (uint8_t)target->port);
	return writer_len(&w);
}

int socks5_parse_choice(const uint8_t *bytes, size_t len,
			enum socks5_method *out)
{
	if (len < 2)
		return 0;
	if (bytes[0] != VERSION ||
	    (bytes[1] != SOCKS5_PLAIN && bytes[1] != SOCKS5_LOGIN))
		return -1;
	*out = bytes[1];
	return 2;
}

int socks5_parse_login_reply(const uint8_t *bytes, size_t len)
{
	if (len < 2)
		return 0;
	return bytes[0] == LOGIN_VERSION && bytes[1] == 0 ? 2 : -1;
}

int socks5_parse_connect_reply(const uint8_t *bytes, size_t len)
{
	size_t address;

	if (len < 5)
		return 0;
	if (bytes[0] != VERSION || bytes[1] != 0 || bytes[2] != 0)
		return -1;
	if (bytes[3] == TYPE_V4)
		address = 4;
	else if (bytes[3] == TYPE_V6)
		address = 16;
	else if (bytes[3] == TYPE_NAME)
		address = 1 + (size_t)bytes[4];
	else
		return -1;
	return len < 4 + address + 2 ? 0 : (int)(4 + address + 2);
}
