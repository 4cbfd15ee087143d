/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_names.c - which words name an agent, and so no sandbox
 */
#include "state/agent_names.h"

#include <string.h>

const struct agent_name agent_names[] = {
	{ "claude", "claude-code", false },
	{ "codex", NULL, false },
	{ "copilot", NULL, false },
	{ "cursor", "cursor-agent", false },
	{ "docker-agent", "cagent", false },
	{ "gemini", NULL, false },
	{ "kiro", "kiro-cli", false },
	{ "opencode", NULL, false },
	{ "shell", NULL, true },
	{ NULL, NULL, false },
};

const struct agent_name *agent_name_find(const char *word)
{
	for (const struct agent_name *row = agent_names; row->name; row++)
		if (!strcmp(row->name, word) ||
		    (row->alias && !strcmp(row->alias, word)))
			return row;
	return NULL;
}
