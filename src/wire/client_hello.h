/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_hello.h - what a TLS client says before anything is encrypted
 *
 * The input is all that the client sent so far; the handshake message may be
 * spread over many records and reads. Bytes that some TLS server would take for
 * the begin of a handshake are never "not TLS", whether we like them or not: a
 * tunnel for other protocols must not become one for TLS with another name.
 * Pure, and copies nothing but the name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/hostname.h"

#define CLIENT_HELLO_MAX 65536u       /* bytes, with the records' headers */
#define CLIENT_HELLO_RECORDS_MAX 1024 /* they are walked at each call */
#define CLIENT_HELLO_EXTENSIONS_MAX 128

enum client_hello_result {
	CLIENT_HELLO_MORE,    /* ask again when there are `need` bytes */
	CLIENT_HELLO_NOT_TLS, /* no TLS server would take it for TLS */
	CLIENT_HELLO_BAD,     /* TLS, but not as we want it: `problem` */
	CLIENT_HELLO_DONE,
};

enum client_hello_sni {
	CLIENT_HELLO_SNI_NONE,
	CLIENT_HELLO_SNI_NAME,
	CLIENT_HELLO_SNI_BAD, /* there is one, but no host is called so */
};

struct client_hello {
	size_t need;         /* CLIENT_HELLO_MORE: at most CLIENT_HELLO_MAX */
	size_t len;          /* CLIENT_HELLO_DONE: its bytes of the input */
	const char *problem; /* static; NULL unless NOT_TLS or BAD */
	/* What follows holds with CLIENT_HELLO_DONE only. */
	enum client_hello_sni sni;
	char name[HOSTNAME_MAX + 1]; /* canonical; "" unless SNI_NAME */
	bool has_ech;      /* encrypted ClientHello of any draft, or GREASE */
	bool has_alpn;     /* offers protocols, those below or others */
	bool offers_h2;    /* "h2" */
	bool offers_http1; /* "http/1.1" */
	uint16_t version;  /* the highest that it offers: 0x0303, 0x0304 */
};

enum client_hello_result client_hello_parse(const void *bytes, size_t len,
					    struct client_hello *out);
