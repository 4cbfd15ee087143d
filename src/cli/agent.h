/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - the command lines of agents
 */
#pragma once

#include <stddef.h>

/*
 * argv of an agent's session, NULL-terminated, malloc'd (the texts are
 * borrowed). args, NULL-terminated or NULL: if the first begins with "-" they
 * follow the agent's own flags, otherwise they replace them. attempt 0 is the
 * command itself, 1 what to try in a template that does not have it; NULL when
 * there is no further attempt.
 */
const char **agent_argv(const char *agent, const char *const *args,
			unsigned attempt);
