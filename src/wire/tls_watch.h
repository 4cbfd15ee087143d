/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_watch.h - a TLS client after its first ClientHello
 *
 * A server that answers with HelloRetryRequest gets a second ClientHello, and
 * some servers believe the name in that one. It can come right behind the first
 * or after early data, so the client's records are followed: in TLS 1.3 all
 * that is encrypted has another type, in TLS 1.2 the next handshake record
 * shows that no hello can follow in the clear. Pure, and keeps no byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tls_watch_result {
	TLS_WATCH_PASS,
	TLS_WATCH_HELLO, /* the first byte that may not pass begins a hello */
	TLS_WATCH_BAD,   /* it begins what no client sends */
};

struct tls_watch {
	size_t left; /* of the record that passes */
	bool over;   /* nothing more to see */
};

/* To begin with behind the first ClientHello. */
void tls_watch_init(struct tls_watch *watch);

/*
 * *pass is how many bytes may go on. Those that remain (with PASS a part of a
 * record's begin) must be given again, with more behind them.
 */
enum tls_watch_result tls_watch_read(struct tls_watch *watch, const void *bytes,
				     size_t len, size_t *pass);

/*
 * After TLS_WATCH_HELLO: client_hello_parse() has read the hello from there and
 * its name is the one of the first: its bytes may pass.
 */
void tls_watch_allow(struct tls_watch *watch, size_t hello_len);
