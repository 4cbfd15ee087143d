/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_settings.h - the user's own settings of an agent, brought in by name
 *
 * "settings" of data/agents.json says which names there are and where beneath
 * the home they lie, on the host and in the guest. Nothing comes in that was
 * not named. Files of JSON are only ever copied, without members that may hold
 * a credential; logins have no name here.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"

struct error;
struct options;
struct sandbox;

#define AGENT_SETTINGS_HOME "/home/agent"
#define AGENT_SETTINGS_NAME_MAX 64

struct agent_setting {
	char name[AGENT_SETTINGS_NAME_MAX + 1];
	const char *path; /* beneath a home; borrowed from the table */
	bool read_only;   /* shared, and not copied */
};

/*
 * Pure. The next of "NAME[:ro],...": 1, and *at moves on; 0 at the end; -1 when
 * the agent has no such setting, or it cannot be shared.
 */
int agent_settings_next(const json_t *agent, const char **at,
			struct agent_setting *setting, struct error *err);
/* Pure. Takes away what may hold a credential, at any depth. */
void agent_settings_filter(json_t *settings);
bool agent_settings_is_json(const struct agent_setting *setting);

/* agent_settings_copy.c: copies what the options name; 1 when there was any. */
int agent_settings_copy(struct sandbox *sandbox, const json_t *keys,
			const struct options *options, struct error *err);
