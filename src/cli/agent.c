/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - the command lines of agents
 */
#include "cli/agent.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

#define ATTEMPTS 2

static const struct {
	const char *name;
	const char *argv[ATTEMPTS][3]; /* program and its flags */
	/* a bare word is a program of its own, and no word for the agent */
	bool word_is_program;
} agents[] = {
	{ "shell", { { "bash", "-l" }, { "/bin/sh", "-l" } }, true },
};

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

const char **agent_argv(const char *agent, const char *const *args,
			unsigned attempt)
{
	for (size_t i = 0; i < ARRAY_SIZE(agents); i++) {
		bool bare = args && args[0] && args[0][0] != '-';
		bool whole = bare && agents[i].word_is_program;
		const char *const *own;
		const char **argv;
		size_t n = 0;

		if (strcmp(agents[i].name, agent))
			continue;
		if (attempt >= ATTEMPTS || !agents[i].argv[attempt][0] ||
		    (whole && attempt > 0))
			return NULL;
		own = agents[i].argv[attempt];
		argv = xcalloc(count(own) + count(args) + 1, sizeof(char *));
		for (; *own && !whole; own++) {
			argv[n++] = *own;
			if (bare)
				break; /* its flags are replaced */
		}
		for (; args && *args; args++)
			argv[n++] = *args;
		return argv;
	}
	return NULL;
}
