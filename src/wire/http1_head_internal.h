/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head_internal.h - parts of a head, shared by http1_*.c and http2_*.c
 */
#pragma once

#include "wire/http1_head.h"

/* What the fields of a head say about its connection and its body. */
struct http1_facts {
	bool has_host;
	struct span host;
	struct http_body body; /* NONE, LENGTH or CHUNKED: what is announced */
	struct span upgrade;   /* empty unless Connection names it */
	bool close, keep_alive;
	bool expects_continue, accepts_trailers;
};

/* Always -1. */
int http1_refuse(struct http_problem *problem, uint16_t status,
		 const char *text);

/* Takes a line with its CRLF off the front; false: none, or a bare CR or LF. */
bool http1_next_line(struct span *rest, struct span *line);

/* Reads lines up to the empty one, which must be the end of rest. */
int http1_fields_parse(struct span rest, struct http_fields *out,
		       struct http_problem *problem);

/* Moves what concerns this connection only from the fields into facts. */
int http1_facts_take(struct http_fields *fields, uint8_t minor,
		     struct http1_facts *facts, struct http_problem *problem);

/* Fields that http1_facts_take() takes, and those like them. */
bool http1_is_framing(struct span name);

/* None may be a trailer that changes what was believed before it. */
int http1_trailers_check(const struct http_fields *fields,
			 struct http_problem *problem);

/* "HTTP/1.0" or "HTTP/1.1"; else -1. */
int http1_version_parse(struct span text, uint8_t *minor);
