/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_agents.c - a file of agents; what is taken can be run
 */
#include "state/agents.h"

#include <stdlib.h>

#include "lib/fuzz.h"

static void run_each_way(const json_t *agent)
{
	static const char *const args[] = { "--flag", NULL };
	static const char *const words[] = { "word", NULL };

	FUZZ_CHECK(agent_output_of(agent) != AGENT_OUTPUTS);
	for (int form = 0; form < AGENT_FORMS; form++) {
		const char **plain = agent_argv(agent, form, NULL);
		const char **more = agent_argv(agent, form, args);
		const char **word = agent_argv(agent, form, words);

		FUZZ_CHECK(!plain == !more);
		FUZZ_CHECK(!plain || (plain[0] && more[1]));
		FUZZ_CHECK(!word || word[0]);
		free(plain);
		free(more);
		free(word);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *list = agents_parse(data, size, NULL), *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		FUZZ_CHECK(agents_find(list, agent_text(item, "name")) == item);
		run_each_way(item);
	}
	json_decref(list);
	return 0;
}
