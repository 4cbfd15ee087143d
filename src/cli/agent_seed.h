/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_seed.h - what the files of an agent's home begin with
 *
 * "seeds" and "notice" of data/agents.json. In texts and keys ${cwd} is the
 * workspace, ${name} the sandbox, ${key:VARIABLE} what the guest sees there
 * (for a secret its placeholder) and ${tail:VARIABLE} its last 20 characters.
 * What names a variable that is not set is left out.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct buffer;
struct error;

#define AGENT_SEED_MAX ((size_t)1 << 20) /* of one file, as in the guest */
#define AGENT_SEED_FILES_MAX 64

struct agent_seed_facts {
	const char *cwd, *name;
	char *const *env; /* "K=V", NULL-terminated */
};

/* {path: text or object}, filled in; the caller's. notice: its text. */
json_t *agent_seed_files(const json_t *agent, const char *notice,
			 const struct agent_seed_facts *facts);
/*
 * Adds what is missing: a value that is there wins, objects are merged, lists
 * get the items that they lack. True when something was added.
 */
bool agent_seed_merge(json_t *mine, const json_t *seed);
/*
 * What a file that is there has to become, appended to out. bytes are the
 * guest's. 1: it is in out, 0: it is fine as it is, or nothing of ours.
 */
int agent_seed_update(const void *bytes, size_t len, const json_t *seed,
		      struct buffer *out);
/* The files as a tar archive. */
int agent_seed_pack(const json_t *files, struct buffer *out, struct error *err);
/* Appends one file to an archive; agent_seed_close() ends it. */
int agent_seed_add(const char *path, const struct buffer *content,
		   struct buffer *out, struct error *err);
int agent_seed_close(struct buffer *out, struct error *err);
