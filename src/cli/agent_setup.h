/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_setup.h - a sandbox is made ready for its agent
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;
struct sandbox;

/* The notice, if that is its place; malloc'd. */
char *agent_setup_notice(const struct sandbox *sandbox, const json_t *keys,
			 const char *path, struct error *err);
/* Files of its home were replaced: they have to be looked at again. */
void agent_setup_again(const struct sandbox *sandbox);
/*
 * Puts the agent's files (agent_seed.h) into the guest's home, where they were
 * not put before. The sandbox is started if it does not run; nobody may hold
 * its lock. keys: as of keys_session(), or NULL.
 */
int agent_setup(struct sandbox *sandbox, const json_t *keys, struct error *err);
/* 1 when that has something to do, 0 when not, -1. */
int agent_setup_is_due(const struct sandbox *sandbox, const json_t *keys,
		       struct error *err);
/*
 * Where the template was made here and nobody has tried it: its command is run
 * in this new sandbox, which is started and not locked. When that fails, the
 * sandbox is of no use, and the caller removes it.
 */
bool agent_setup_is_untried(const struct sandbox *sandbox);
int agent_setup_try(struct sandbox *sandbox, struct error *err);
/* One line when the agent has no key at all. */
void agent_setup_say_key(const struct sandbox *sandbox, const json_t *keys);
