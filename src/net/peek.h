/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek.h - what protocol a client's first bytes begin
 *
 * On the ports of the web it is TLS, HTTP, or SSH (some servers offer it there
 * for networks that have nothing else open). Whatever is none of these is
 * HTTP, whose parser then says what is wrong with it. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/client_hello.h"

enum peek_result {
	PEEK_MORE, /* too little to tell */
	PEEK_TLS,  /* the ClientHello is whole */
	PEEK_SSH,
	PEEK_HTTP,
	PEEK_BAD, /* hello->problem */
};

enum peek_result peek_parse(const void *bytes, size_t len,
			    struct client_hello *hello);
