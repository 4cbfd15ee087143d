/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_names.h - which words name an agent, and so no sandbox
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct agent_name {
	const char *name;
	const char *alias; /* another spelling, or NULL */
	bool available;    /* in this version */
};

/* Ends in a row without a name. */
extern const struct agent_name agent_names[];

/* The row for a name or alias; NULL when the word names no agent. */
const struct agent_name *agent_name_find(const char *word);
