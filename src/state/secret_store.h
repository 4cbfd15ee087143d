/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_store.h - the secrets of one scope, on the host's disk
 *
 * One file for all sandboxes and one for each sandbox that has some, by its id:
 * a new sandbox of an old name gets nothing of the old one. In the folder
 * `secrets` of the state folder, 0700, each 0600 and replaced as a whole:
 *   {"version": 1, "secrets": [{"name", "value" | "command",
 *      "cache_s"?, "set" (seconds), "hosts"?, "headers"?, "variables"?,
 *      "repos"?, "plain_http"?}],
 *    "placeholders": {NAME: TEXT}, "repos"?: [OWNER/NAME], "logins"?: {...}}
 * What a service of that name says is used for what is left out. Placeholders
 * are what a guest gets instead; "repos" are those of the workspace, for
 * secrets that name none; "logins" are in logins.h. Only a sandbox's file has
 * the first two.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;

#define SECRET_STORE_FOLDER "secrets"
#define SECRET_STORE_ALL "global" /* the scope of all sandboxes */
#define SECRET_STORE_BYTES_MAX ((size_t)4 << 20)
#define SECRET_STORE_SECRETS_MAX 256
#define SECRET_STORE_VALUE_MAX 8192
#define SECRET_STORE_COMMAND_MAX 4096
#define SECRET_STORE_CACHE_S 3600
#define SECRET_STORE_CACHE_MAX_S (30 * 24 * 3600)

/* Makes jansson wipe what it frees: first of all in a process with secrets. */
void secret_store_wipe_json(void);

/* Pure. The caller's; NULL and err when it is refused. */
json_t *secret_store_parse(const void *bytes, size_t len, struct error *err);
/* One secret of the list, as the file has it. */
int secret_store_check(json_t *secret, struct error *err);
/* No control bytes, not empty, not too long; len is cut before the last line
 * feeds, which a command or a file ends with. */
int secret_store_check_value(const char *value, size_t *len, struct error *err);

/* Made 0700. */
int secret_store_open(struct error *err);
/* Held from the loading to the saving; close it. */
int secret_store_lock(int folder, struct error *err);
/* An empty one when there is no file; a file that others could read is
 * refused. */
json_t *secret_store_load(int folder, const char *scope, struct error *err);
/* An empty one is deleted. */
int secret_store_save(int folder, const char *scope, const json_t *store,
		      struct error *err);
/* The file of a sandbox that is gone; a missing one is fine. */
void secret_store_forget(int folder, const char *scope);

/* Borrowed; NULL: there is none. */
json_t *secret_store_find(const json_t *store, const char *name);
/* Takes the reference. The same name takes the old one's place. */
int secret_store_put(json_t *store, json_t *secret, struct error *err);
/* 1, or 0 when there is none. */
int secret_store_remove(json_t *store, const char *name);
