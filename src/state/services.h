/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.h - data/services.json: who takes which key, and where
 *
 * {"services": [{
 *   "name", "hosts": [as in a rule, without a path],
 *   "headers": [{"name", "format", "hosts"?}],
 *   "variables": [of the environment], "placeholder": {"prefix", "length"},
 *   "agents"? (whose key it is), "query"?, "methods"?, "paths"?, "except"?,
 *   "questions"?, "repo_paths"?, "token_endpoints"?,
 *   "callback_ports"?: [texts],
 *   "renew"?: {"endpoint", "type": "json" | "form", "fields": {NAME: TEXT},
 *     "scope"?: true}}]}
 *
 * A format has one %s, or base64(...) with one %s in it. Header, query,
 * methods and paths say where the key may stand; "repo_paths" have an
 * OWNER/NAME for their %s. "except" are paths where it never does: those that
 * make another key with this one, which the guest could take along. A question,
 * "PATH BODY", is a request (POST) that may carry it if that is its whole body.
 * "token_endpoints" are the HOST/PATH where logins get and renew tokens
 * (logins.h); "renew" is how the host does so itself: at one of them, with
 * these fields beside grant_type and refresh_token, and with the scope that the
 * login was granted.
 * "callback_ports" are where a browser comes back to. Users add files of the
 * same form in services.d of the config folder: a name that is there already is
 * replaced.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SERVICE_ENDPOINTS "token_endpoints"
#define SERVICE_CALLBACKS "callback_ports"
#define SERVICE_RENEW "renew"
#define SERVICE_EXCEPT "except"
#define SERVICE_QUESTIONS "questions"

struct error;

#define SERVICES_FILE "services.json"
#define SERVICES_FOLDER "services.d"
#define SERVICES_MAX 256
#define SERVICE_NAME_MAX 63
#define SERVICE_BYTES_MAX ((size_t)256 * 1024) /* of one file */
#define SERVICE_LIST_MAX 32
#define SERVICE_TEXT_MAX 256
#define SERVICE_QUESTION_MAX 1024
/* Too short would be found everywhere, too long fits no head. */
#define SERVICE_PLACEHOLDER_MIN 16
#define SERVICE_PLACEHOLDER_MAX 256

/* Pure. The list of a file, the caller's; NULL and err when it is refused. */
json_t *services_parse(const void *bytes, size_t len, struct error *err);
/* Adds the services of another list; the same name takes the old one's place.
 * -1: too many. */
int services_merge(json_t *list, const json_t *more, struct error *err);
/* The built-in file, then those of the folder in the order of their names. */
json_t *services_load_from(const char *file, const char *folder,
			   struct error *err);
json_t *services_load(struct error *err);

/* Borrowed; NULL: there is none. */
json_t *services_find(const json_t *list, const char *name);
json_t *services_of_variable(const json_t *list, const char *variable);
bool services_has_agent(const json_t *service, const char *agent);

/* Lower-case letters, digits, `.`, `_` and `-`; begins with none of these. */
int service_check_name(const char *name, struct error *err);
/* Parts of a service that a user gives for a secret of their own. */
int service_check_header(const json_t *header, struct error *err);
int service_check_texts(const json_t *list, const char *what,
			struct error *err);
