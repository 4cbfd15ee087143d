/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_head.h - what a request or response says, whichever version carried it
 *
 * This is meaning, not syntax: what only concerned one connection (Connection
 * and what it names, framing, Host, Upgrade) is in members of its own and no
 * longer among the fields. A head made from HTTP/1 can be written as HTTP/2 and
 * the other way round. All texts are borrowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/authority.h"
#include "wire/http_fields.h"
#include "wire/span.h"

#define HTTP_METHOD_MAX 32
#define HTTP_TARGET_MAX 16384

/* Why a head is refused: the status that says so, and a text for people. */
struct http_problem {
	uint16_t status;
	const char *text; /* static */
};

enum http_body_kind {
	HTTP_BODY_NONE,
	HTTP_BODY_LENGTH,
	HTTP_BODY_CHUNKED,     /* HTTP/2: the length is not known */
	HTTP_BODY_UNTIL_CLOSE, /* responses of HTTP/1 only */
};

struct http_body {
	enum http_body_kind kind;
	/* HTTP_BODY_LENGTH, or said of a body that is not there (HEAD, 304) */
	bool has_length;
	uint64_t length;
};

/* Methods that change how the response is framed. */
enum http_method {
	HTTP_METHOD_OTHER,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_CONNECT,
};

enum http_target {
	HTTP_TARGET_ORIGIN,    /* /path?query; HTTP/2 without CONNECT */
	HTTP_TARGET_ABSOLUTE,  /* http://host/path?query */
	HTTP_TARGET_AUTHORITY, /* host:port, with CONNECT only */
	HTTP_TARGET_ASTERISK,  /* *, with OPTIONS only */
};

enum http_scheme {
	HTTP_SCHEME_NONE, /* HTTP/1 does not say, but in absolute form */
	HTTP_SCHEME_HTTP,
	HTTP_SCHEME_HTTPS,
};

struct http_request {
	struct span method; /* http_method_is_valid() */
	enum http_method method_kind;
	enum http_target target;
	enum http_scheme scheme;
	bool has_authority; /* only HTTP/1.0 may do without */
	struct authority authority;
	struct span path; /* with the query; "*"; empty with CONNECT */
	struct http_body body;
	struct span upgrade;   /* protocols it wants to change to; or empty */
	uint8_t minor;         /* of HTTP/1 */
	bool keep_alive;       /* the client goes on after the response */
	bool expects_continue; /* it waits for 100 before it sends a body */
	bool accepts_trailers;
	struct http_fields fields; /* last: it is large */
};

struct http_response {
	uint16_t status;    /* 100 to 999 */
	struct span reason; /* may be empty; HTTP/2 has none */
	struct http_body body;
	struct span upgrade; /* with 101 and 426 */
	uint8_t minor;
	bool keep_alive; /* the server goes on after it */
	bool is_interim; /* 1xx but 101: the final one is still to come */
	bool is_tunnel;  /* 101, or CONNECT worked: bytes both ways follow */
	struct http_fields fields; /* last: it is large */
};

/*
 * Capital letters, digits, hyphen and underscore only: lower case is a method
 * of its own to some servers and the same one to others.
 */
bool http_method_is_valid(struct span method);
enum http_method http_method_kind(struct span method);
