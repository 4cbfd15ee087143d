/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_keys.h - keys of the user's ssh-agent that a sandbox may sign with
 *
 * Named once, when the sandbox is made, and kept as what they are: a key that
 * gets the same comment later is another one. Kept as an agent's answer
 * (wire/ssh_agent.h) in hexadecimal, without comments.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;
struct sandbox_record;
struct ssh_key;
struct ssh_keys;

#define SSH_KEYS_MAX 16 /* for a sandbox */
#define SSH_KEY_BLOB_MAX 16384

/*
 * A line of a .pub file: "TYPE BASE64 COMMENT". The key's bytes into blob;
 * their count, or -1. Pure.
 */
int ssh_keys_parse_line(const char *text, size_t len,
			unsigned char blob[SSH_KEY_BLOB_MAX]);
/*
 * The one of the keys that has this comment or fingerprint (SHA256:...); NULL:
 * none, or err says that there are several. Pure.
 */
const struct ssh_key *ssh_keys_find(const struct ssh_keys *keys,
				    const char *word, struct error *err);

/*
 * wish: comments, fingerprints and .pub files with commas between; "": the only
 * key that the agent has. malloc'd.
 */
char *ssh_keys_choose(const char *wish, struct error *err);
/*
 * "ssh_agent" of the network's settings at a start: null where the sandbox has
 * no keys, or, as is said, where there is no agent now.
 */
json_t *ssh_keys_settings(const struct sandbox_record *record,
			  struct error *err);
