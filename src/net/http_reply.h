/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_reply.h - answers of our own to a client that speaks HTTP
 */
#pragma once

#include <stddef.h>

#include "wire/http_head.h"

struct decision;
struct target;

#define HTTP_REPLY_TEXT_MAX 4096

struct http_reply {
	size_t len;
	char text[HTTP_REPLY_TEXT_MAX];
	struct http_response response; /* last: it is large */
};

/* A plain text with that status; text is copied and gets a line end. */
void http_reply_make(struct http_reply *reply, unsigned status,
		     const char *text);

/* What was blocked. */
struct http_reply_blocked {
	const char *sandbox;
	const struct target *target;
	const struct decision *decision;
	const char *reason; /* NULL: the decision */
	/* Of a host some requests of which are allowed; else both NULL. */
	const char *method, *path;
};
/* What is blocked, by what, and the command that would allow it. */
void http_reply_blocked(char *out, size_t size,
			const struct http_reply_blocked *what);
