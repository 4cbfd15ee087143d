/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_approvals.c - policy approvals: questions of running sandboxes, answered
 * from another terminal
 */
#include "cli/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/ask_watch.h"
#include "cli/launcher.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

/* What is asked for a sandbox now; none when it does not run. */
static size_t questions(const struct sandbox *sandbox,
			struct ask asks[ASKS_MAX])
{
	AUTO(json)
	json_t *answer =
		launcher_call(sandbox, json_pack("{s:s}", "op", "asks"), NULL);

	return ask_decode_list(json_object_get(answer, "asks"), asks);
}

static void list_one(const struct sandbox *sandbox, struct table *table,
		     json_t *rows)
{
	struct ask asks[ASKS_MAX];
	size_t count = questions(sandbox, asks);
	char text[32];

	for (size_t i = 0; i < count; i++) {
		const struct ask *ask = &asks[i];

		text_format(text, sizeof(text), "%llu",
			    (unsigned long long)ask->id);
		table_cell(table, sandbox->record.name);
		table_cell(table, text);
		table_cell(table, ask->target);
		table_cell(table, ask->protocol);
		text_format(text, sizeof(text), "%lld s",
			    (long long)(ask->ms_left + 999) / 1000);
		table_cell(table, text);
		json_array_append_new(
			rows, json_pack("{s:s, s:I, s:s, s:s, s:I}", "sandbox",
					sandbox->record.name, "id",
					(json_int_t)ask->id, "target",
					ask->target, "protocol", ask->protocol,
					"ms_left", (json_int_t)ask->ms_left));
	}
}

static int list(const struct options *options, const struct store *store,
		const char *only, struct error *err)
{
	static const char *const headings[] = { "SANDBOX",  "ID",   "TARGET",
						"PROTOCOL", "LEFT", NULL };
	AUTO(table) struct table *table = table_new(headings);
	AUTO(json) json_t *rows = json_array();
	AUTO_SANDBOX struct sandbox named = SANDBOX_INIT;

	if (only && store_find(store, only, &named, err) < 0)
		return -1;
	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		if ((!only || !strcmp(only, store->names[i])) &&
		    store_find(store, store->names[i], &sandbox, NULL) == 0)
			list_one(&sandbox, table, rows);
	}
	if (options_flag(options, "json"))
		print_json(rows);
	else
		table_print(table);
	return 0;
}

/* The number or the target; without either, all. */
static bool is_meant(const struct ask *ask, const char *word)
{
	uint64_t id;

	if (!word || !strcmp(word, ask->target))
		return true;
	return text_to_u64(word, 0, UINT64_MAX, &id) == 0 && id == ask->id;
}

static int answer_one(const struct sandbox *sandbox, const char *word,
		      enum ask_choice choice, struct error *err)
{
	struct ask asks[ASKS_MAX];
	size_t count = questions(sandbox, asks);
	struct error failure = { 0 };
	int answered = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_meant(&asks[i], word))
			continue;
		if (ask_answer(sandbox, asks[i].id, choice, &failure) == 0) {
			answered++;
		} else if (failure.code != ENOENT) {
			*err = failure;
			return -1;
		}
	}
	return answered;
}

static int answer(const struct options *options, const struct store *store,
		  bool allow, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	bool always = options_flag(options, "always");
	enum ask_choice choice;
	int answered;

	if (options->word_count < 2)
		return options_usage(err, "which sandbox? (usage: bawn policy "
					  "approvals allow NAME [ID|TARGET])");
	if (store_find(store, options->words[1], &sandbox, err) < 0)
		return -1;
	if (allow)
		choice = always ? ASK_ALWAYS : ASK_ONCE;
	else
		choice = always ? ASK_NEVER : ASK_DENY;
	answered = answer_one(&sandbox, options->words[2], choice, err);
	if (answered < 0)
		return -1;
	return answered ? 0
			: error_set(err, 0, "%s asks nothing of that kind now",
				    sandbox.record.name);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	const char *verb = options->word_count ? options->words[0] : "ls";

	if (store_open(&store, err) < 0)
		return -1;
	if (!strcmp(verb, "allow") || !strcmp(verb, "deny"))
		return answer(options, &store, *verb == 'a', err);
	if (!strcmp(verb, "ls") && options->word_count < 3)
		return list(options, &store,
			    options->word_count ? options->words[1] : NULL,
			    err);
	return options_usage(err, "usage: bawn policy approvals %s",
			     command_policy_approvals.arguments);
}

static const struct option_row rows[] = {
	{ "always", '\0', OPTION_FLAG, NULL,
	  "add the rule too, so that it is not asked again", NULL,
	  OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_policy_approvals = {
	.name = "policy approvals",
	.arguments = "[ls [NAME] | allow NAME [ID|TARGET] | deny NAME "
		     "[ID|TARGET]]",
	.help = "list and answer the questions of sandboxes with --ask",
	.details = "Without ID or TARGET all questions of the sandbox are "
		   "answered.",
	.options = rows,
	.completes = "ls|allow|deny",
	.flags = COMMAND_USES_STORE,
	.max_words = 3,
	.failure_code = 1,
	.run = run,
};
