/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_fields.h - the header fields of one HTTP message, in any version
 *
 * An ordered, bounded list of borrowed names and values. Whatever is in it can
 * be written to any wire: a name that is no token and a value with a control
 * byte do not get in, so nobody can split a message by adding a field. Names
 * are found in any case of their letters and keep their own. Pure; memory for
 * copies is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/span.h"

#define HTTP_FIELDS_MAX 128

struct http_field {
	struct span name;
	struct span value; /* no space at its ends */
};

struct http_fields {
	size_t count;
	char *arena; /* borrowed; may be NULL while nothing is copied */
	size_t arena_size, arena_used;
	struct http_field list[HTTP_FIELDS_MAX];
};

/* An empty list without memory for copies. */
void http_fields_init(struct http_fields *fields);
/* Memory for copies; what was copied into another stays there. */
void http_fields_use_arena(struct http_fields *fields, char *arena,
			   size_t arena_size);

/* At the end. The texts must outlive the list. -1: full, or not writable. */
int http_fields_add(struct http_fields *fields, struct span name,
		    struct span value);
/* The same with copies of the texts; -1 also when the arena is full. */
int http_fields_add_copy(struct http_fields *fields, struct span name,
			 struct span value);
/* *text becomes a copy in the arena; -1 when that is full. */
int http_fields_copy(struct http_fields *fields, struct span *text);

/* The first, or the first after another one of the list; NULL: none. */
const struct http_field *http_fields_find(const struct http_fields *fields,
					  const char *name,
					  const struct http_field *after);
size_t http_fields_count(const struct http_fields *fields, const char *name);
/* All of that name; the others keep their order. Returns how many. */
size_t http_fields_remove(struct http_fields *fields, const char *name);
/* Is this among the comma-separated tokens of all fields of that name? */
bool http_fields_has_token(const struct http_fields *fields, const char *name,
			   const char *token);

/* Takes the next element off a comma-separated list; empty ones are skipped. */
bool http_list_next(struct span *rest, struct span *element);
/* Without spaces and tabs at its ends. */
struct span http_trim(struct span text);

bool http_is_token(struct span text);  /* a name or method: not empty */
bool http_is_value(struct span text);  /* no control byte but tab */
bool http_is_target(struct span text); /* visible ASCII but `#`: not empty */
