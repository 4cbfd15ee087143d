/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents.h - data/agents.json: which agents there are, and how each is run
 *
 * {"agents": [{
 *   "name", "aliases"?: [other spellings], "template" (what it runs in),
 *   "interactive": [argv], "resume"?: [argv, goes on with the last session],
 *   "once": [argv, prompt on stdin, full permission, machine output],
 *   "resume_once"?: [argv], "fallback"?: [argv where "interactive" has no
 *   program], "output": (which form "once" prints), "variables": [of its
 *   keys], "environment": {NAME: value}, "notice"?: path, "seeds"?:
 *   [{"path", "json" | "text"}], "word_is_program"?: bool}]}
 *
 * Paths are beneath the home of the guest's user; agent_seed.h tells what
 * happens to seeds and the notice. Users add files of the same form in
 * agents.d of the config folder: a name that is there already is replaced.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

#define AGENTS_FILE "agents.json"
#define AGENTS_FOLDER "agents.d"
#define AGENTS_MAX 128
#define AGENT_NAME_MAX 32
#define AGENT_BYTES_MAX ((size_t)256 * 1024) /* of one file */
#define AGENT_LIST_MAX 32
#define AGENT_TEXT_MAX 4096

/* What "once" prints; AGENT_OUTPUTS is no form. */
enum agent_output {
	AGENT_OUTPUT_TEXT,
	AGENT_OUTPUT_CLAUDE,
	AGENT_OUTPUT_CODEX,
	AGENT_OUTPUT_GEMINI,
	AGENT_OUTPUT_COPILOT,
	AGENT_OUTPUT_OPENCODE,

	AGENT_OUTPUTS,
};

enum agent_form {
	AGENT_INTERACTIVE,
	AGENT_RESUME,
	AGENT_ONCE,
	AGENT_RESUME_ONCE,
	AGENT_FALLBACK,

	AGENT_FORMS,
};

/* Pure. The list of a file, the caller's; NULL and err when it is refused. */
json_t *agents_parse(const void *bytes, size_t len, struct error *err);
/* Adds the agents of another list; the same name takes the old one's place.
 * -1: too many, or a spelling of two agents. */
int agents_merge(json_t *list, const json_t *more, struct error *err);
/* The built-in file, then those of the folder in the order of their names. */
json_t *agents_load_from(const char *file, const char *folder,
			 struct error *err);
json_t *agents_load(struct error *err);

/* By name or another spelling. Borrowed; NULL: there is none. */
json_t *agents_find(const json_t *list, const char *word);

/* Of one agent; borrowed. */
const char *agent_text(const json_t *agent, const char *key);
enum agent_output agent_output_of(const json_t *agent);
/*
 * argv, NULL-terminated, malloc'd (the texts are borrowed); NULL when the agent
 * has no such form. args, NULL-terminated or NULL: if the first begins with
 * "-" they follow the agent's own flags, otherwise they replace them, or are a
 * program of their own where a word is one.
 */
const char **agent_argv(const json_t *agent, enum agent_form form,
			const char *const *args);
