/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_watch.c - a TLS client after its first ClientHello
 */
#include "wire/tls_watch.h"

#include <stdint.h>

#define HEADER_BYTES 5
#define TYPE_FIRST 20
#define TYPE_HANDSHAKE 22
#define TYPE_LAST 24
#define HELLO_SHOWN 6 /* type, length, version */

void tls_watch_init(struct tls_watch *watch)
{
	*watch = (struct tls_watch){ 0 };
}

void tls_watch_allow(struct tls_watch *watch, size_t hello_len)
{
	watch->left = hello_len;
}

/*
 * The end of a TLS 1.2 handshake is encrypted and has the same type; random
 * bytes look like this once in a billion times. A shorter record than an
 * encrypted message is the begin of a hello when it can be one.
 */
static bool looks_like_hello(const uint8_t *bytes, size_t len)
{
	return bytes[0] == 1 && (len < 2 || bytes[1] == 0) &&
	       (len < 5 || bytes[4] == 3) && (len < 6 || bytes[5] <= 4);
}

/* At a record's begin. PASS: it may pass, or more of it is needed (left 0). */
static enum tls_watch_result look(struct tls_watch *watch, const uint8_t *bytes,
				  size_t len)
{
	size_t size, shown;

	if (bytes[0] < TYPE_FIRST || bytes[0] > TYPE_LAST)
		return TLS_WATCH_BAD;
	if (len < HEADER_BYTES)
		return TLS_WATCH_PASS;
	size = (size_t)bytes[3] << 8 | bytes[4];
	if (bytes[0] == TYPE_HANDSHAKE) {
		shown = size < HELLO_SHOWN ? size : HELLO_SHOWN;
		if (size == 0)
			return TLS_WATCH_BAD;
		if (len < HEADER_BYTES + shown)
			return TLS_WATCH_PASS;
		if (looks_like_hello(bytes + HEADER_BYTES, shown))
			return TLS_WATCH_HELLO;
		watch->over = true;
	}
	watch->left = HEADER_BYTES + size;
	return TLS_WATCH_PASS;
}

enum tls_watch_result tls_watch_read(struct tls_watch *watch, const void *bytes,
				     size_t len, size_t *pass)
{
	const uint8_t *at = bytes;
	size_t step;

	*pass = 0;
	while (*pass < len && !watch->over) {
		if (watch->left == 0) {
			enum tls_watch_result result =
				look(watch, at + *pass, len - *pass);

			if (result != TLS_WATCH_PASS || watch->left == 0)
				return result;
		}
		step = len - *pass < watch->left ? len - *pass : watch->left;
		*pass += step;
		watch->left -= step;
	}
	if (watch->over)
		*pass = len;
	return TLS_WATCH_PASS;
}
