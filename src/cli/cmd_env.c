/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_env.c - variables of a sandbox
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/variables.h"

AUTO_DEFINE(json, json_t *, json_decref)

static void show(const json_t *variables)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)variables, key, value)
		printf("%s=%s\n", key, json_string_value(value));
}

static int change(const struct options *options, json_t *variables,
		  struct error *err)
{
	const char *key;
	size_t at = 0;

	for (size_t i = 1; i < options->word_count; i++) {
		if (!strchr(options->words[i], '='))
			return options_usage(err, "%s: not KEY=VALUE",
					     options->words[i]);
		if (variables_add(variables, options->words[i], err) < 0)
			return -1;
	}
	while ((key = options_next(options, "unset", &at)))
		json_object_del(variables, key);
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO(json) json_t *variables = NULL;
	AUTO_CLOSE int lock = -1;
	bool changes =
		options->word_count > 1 || options_flag(options, "unset");

	if (sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	/* two changes at once must both be there afterwards */
	if (changes) {
		lock = variables_lock(sandbox.folder, err);
		if (lock < 0)
			return -1;
	}
	variables = variables_load(sandbox.folder, err);
	if (!variables)
		return -1;
	if (changes)
		return change(options, variables, err) < 0
			       ? -1
			       : variables_save(sandbox.folder, variables, err);
	if (options_flag(options, "json"))
		print_json(variables);
	else
		show(variables);
	return 0;
}

static const struct option_row rows[] = {
	{ "unset", '\0', OPTION_LIST, "KEY", "take a variable away", NULL,
	  OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_env = {
	.name = "env",
	.arguments = "NAME [KEY=VALUE...]",
	.help = "show or set variables of a sandbox's next sessions",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = run,
};
