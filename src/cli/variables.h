/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.h - variables of a sandbox (env.json) and of one session
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;
struct options;
struct sandbox;

/* An object K -> V; empty when there is no file. Caller owns it. */
json_t *variables_load(int folder, struct error *err);
/* Held from the loading to the saving by who changes them; close it. */
int variables_lock(int folder, struct error *err);
int variables_save(int folder, const json_t *variables, struct error *err);

/*
 * "K=V" or "K" (the host's value, if it is set) into the object. A K that is a
 * service's stays out: its value is bound (keys.h).
 */
int variables_add(json_t *variables, const char *text, struct error *err);
/* -e and --env-file of a command. */
int variables_from_options(json_t *variables, const struct options *options,
			   struct error *err);

/*
 * What a session gets: the variables of its image, SANDBOX_NAME, SANDBOX_ID,
 * IS_SANDBOX, WORKSPACE_DIR (the first folder), SSH_AUTH_SOCK, TERM with a tty,
 * the placeholders of what is bound (with session, see keys.h), env.json, then
 * extra (both may be NULL). NULL-terminated; variables_free().
 */
char **variables_of_session(const struct sandbox *sandbox, bool tty,
			    const json_t *session, const json_t *extra,
			    struct error *err);
void variables_free(char **list);
