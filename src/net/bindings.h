/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bindings.h - the secrets that bawn-net may put into requests
 *
 * The list comes from bawn-keys as a whole and is never changed: a new one
 * takes its place. Requests that are under way keep the one they began with, so
 * that their responses are masked to the end. Values lie in locked memory.
 *
 * {"secrets": [{"name", "placeholder", "value" (null: there is none now),
 *   "why" (text or null), "hosts": [...], "headers": [{"name", "format",
 *   "hosts"?}], "query": [...], "methods": [...], "paths": [...],
 *   "except"?: [paths where it never stands], "questions"?: ["PATH BODY"],
 *   "plain_http"}], "logins"?: [as in logins.h]}
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct login;
struct mask_forms;
struct policy;
struct policy_request;
struct secret;

#define BINDINGS_BYTES_MAX ((size_t)8 << 20)
#define BINDINGS_MAX 256
#define BINDING_LIST_MAX 64
#define BINDING_QUESTION_MAX 1024

/* "Bearer %s": before and after; in base64() also inner texts. */
struct binding_header {
	char *name;                /* owned, lower case */
	char *before, *after;      /* owned */
	bool base64;               /* then the next two are encoded with it */
	char *inner, *inner_after; /* owned; "" without base64 */
	struct policy *hosts;      /* owned; NULL: all of the binding's */
};

struct binding {
	char *name, *placeholder;       /* owned */
	struct secret *value;           /* owned; NULL: there is none now */
	char *why;                      /* owned: then why; may be NULL */
	struct mask_forms *forms;       /* owned; of the value */
	struct policy *hosts;           /* owned: names that are bound */
	struct policy *where;           /* owned: requests that may carry it */
	struct binding_header *headers; /* owned */
	size_t header_count;
	char **query; /* owned, NULL-terminated: keys that carry it */
	/* The same, "PATH BODY": requests (POST) that may carry it beside
	 * `where`, if that is all that they say. */
	char **questions;
	bool plain_http;
};

struct bindings {
	unsigned references; /* private */
	size_t count;
	struct binding *list; /* owned */
	size_t login_count;
	struct login *logins; /* owned */
};

/* Pure. One reference is the caller's; NULL and err when it is refused. */
struct bindings *bindings_parse(const void *bytes, size_t len,
				struct error *err);
/* All of the file, from its begin; fd stays open. */
struct bindings *bindings_read(int fd, struct error *err);
struct bindings *bindings_ref(struct bindings *bindings);
/* May be NULL. */
void bindings_unref(struct bindings *bindings);

/* Is the name bound to it? Canonical; bindings may be NULL. */
bool binding_has_host(const struct binding *binding, const char *name,
		      uint16_t port);
bool bindings_have_host(const struct bindings *bindings, const char *name,
			uint16_t port);
/* Does it go into this header there? */
bool binding_header_is_for(const struct binding_header *header,
			   const char *name, uint16_t port);
/* NULL: there is none; bindings may be NULL. */
const struct binding *bindings_find(const struct bindings *bindings,
				    const char *name);

/* Is it the host of a token endpoint? */
bool bindings_have_login(const struct bindings *bindings, const char *name,
			 uint16_t port);
/* The login whose endpoint this request is for, in any spelling; NULL: none. */
const struct login *bindings_login(const struct bindings *bindings,
				   const struct policy_request *request);
