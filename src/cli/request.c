/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - reading what was asked for
 */
#include "cli/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/share_parse.h"
#include "cli/store.h"
#include "state/agents.h"

#define MIB (1024u * 1024)

static bool exists(const struct store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (!strcmp(store->names[i], name))
			return true;
	return false;
}

/* "./x", "~/x", "a/b"; a dot inside a word may also be part of a name. */
static bool is_path(const char *word, const struct store *store)
{
	struct share_record share;
	bool found;

	if (strchr(word, '/') || word[0] == '.' || word[0] == '~')
		return true;
	if (!strchr(word, '.'))
		return false;
	found = share_parse(word, SHARE_FORM_PATH, &share, NULL) == 0;
	share_release(&share);
	return found || !exists(store, word);
}

static int unknown_word(const struct request *request, const char *word,
			const struct store *store, bool first,
			struct error *err)
{
	struct text_nearest nearest;
	char shown[80];
	json_t *row;
	size_t k;

	text_nearest_init(&nearest, word);
	json_array_foreach(request->agents, k, row)
	{
		if (first)
			text_nearest_offer(&nearest, agent_text(row, "name"));
	}
	for (size_t i = 0; first && i < store->count; i++)
		text_nearest_offer(&nearest, store->names[i]);
	text_printable(word, strlen(word), shown, sizeof(shown));
	if (nearest.best)
		return error_set(err, 0,
				 "\"%s\" is neither an agent nor a sandbox "
				 "(did you mean %s?)",
				 shown, nearest.best);
	return error_set(err, 0,
			 "\"%s\" is neither an agent nor a sandbox (a folder "
			 "is written ./%s)",
			 shown, shown);
}

static int take_first(struct request *request, const char *word,
		      const struct store *store, struct error *err)
{
	const json_t *agent = agents_find(request->agents, word);

	if (agent) {
		request->agent = agent_text(agent, "name");
		return 0;
	}
	if (!exists(store, word))
		return unknown_word(request, word, store, true, err);
	request->name = word;
	request->must_exist = true;
	return 0;
}

static int take_words(const struct options *options, const struct store *store,
		      struct request *request, struct error *err)
{
	for (size_t i = 0; i < options->word_count; i++) {
		const char *word = options->words[i];

		if (!is_path(word, store)) {
			if (i > 0)
				return unknown_word(request, word, store, false,
						    err);
			if (take_first(request, word, store, err) < 0)
				return -1;
			continue;
		}
		if (request_take_path(request, word, err) < 0)
			return -1;
	}
	return 0;
}

static int take_number(const struct options *options, const char *name,
		       uint64_t max, uint64_t *out, struct error *err)
{
	const char *text = options_value(options, name);

	if (!text)
		return 0;
	if (text_to_u64(text, 1, max, out) < 0)
		return options_usage(err,
				     "--%s %s: not a number from 1 to %llu",
				     name, text, (unsigned long long)max);
	return 0;
}

static int take_size(const struct options *options, const char *name,
		     uint64_t *out, struct error *err)
{
	const char *text = options_value(options, name);

	if (!text)
		return 0;
	if (text_to_size(text, out) < 0 || *out == 0)
		return options_usage(err,
				     "--%s %s: not a size (such as 512M or 4G)",
				     name, text);
	return 0;
}

static int take_resources(const struct options *options,
			  struct request *request, struct error *err)
{
	const char *accel = options_value(options, "accel");
	const char *isolation = options_value(options, "isolation");
	uint64_t cpus = 0, memory = 0;

	if (take_number(options, "cpus", 255, &cpus, err) < 0 ||
	    take_size(options, "memory", &memory, err) < 0 ||
	    take_size(options, "disk", &request->disk_bytes, err) < 0)
		return -1;
	if (memory && (memory < MIB || memory / MIB > UINT_MAX))
		return options_usage(err, "--memory %s: not a sensible size",
				     options_value(options, "memory"));
	request->cpus = (unsigned)cpus;
	request->memory_mib = (unsigned)(memory / MIB);
	if (accel && strcmp(accel, "auto") && strcmp(accel, "kvm") &&
	    strcmp(accel, "tcg"))
		return options_usage(err, "--accel %s: auto, kvm or tcg",
				     accel);
	request->accel = accel;
	if (isolation && strcmp(isolation, "microvm"))
		return error_set(err, 0,
				 "--isolation %s: only microvm is available in "
				 "this version",
				 isolation);
	return 0;
}

static int take_name(const struct options *options, struct request *request,
		     struct error *err)
{
	const char *name = options_value(options, "name");

	if (!name)
		return 0;
	if (request->must_exist)
		return options_usage(err, "--name %s and sandbox %s: give one",
				     name, request->name);
	if (request_check_name(request, name, err) < 0)
		return options_usage(err, "%s", err->text);
	request->name = name;
	return 0;
}

static int take_template(const struct options *options, struct request *request,
			 struct error *err)
{
	static const char *const policies[] = {
		[TEMPLATE_PULL_MISSING] = "missing",
		[TEMPLATE_PULL_ALWAYS] = "always",
		[TEMPLATE_PULL_NEVER] = "never",
	};
	const char *name = options_value(options, "template");
	const char *pull = options_value(options, "pull");
	size_t i = 0;

	if (name)
		request->template_name = template_canonical(name);
	while (pull && i < ARRAY_SIZE(policies) && strcmp(pull, policies[i]))
		i++;
	if (i == ARRAY_SIZE(policies))
		return options_usage(err, "--pull %s: always, missing or never",
				     pull);
	request->pull = (enum template_policy)i;
	if (!options_flag(options, "load-local-template"))
		return 0;
	if (pull && request->pull != TEMPLATE_PULL_NEVER)
		return options_usage(err,
				     "--pull %s and --load-local-template: "
				     "give one",
				     pull);
	request->pull = TEMPLATE_PULL_NEVER;
	request->ask_engine = true;
	return 0;
}

int request_parse(const struct options *options, const struct store *store,
		  struct request *request, struct error *err)
{
	bool named;

	memset(request, 0, sizeof(*request));
	request->agents = agents_load(err);
	if (!request->agents)
		return -1;
	if (take_template(options, request, err) < 0)
		return -1;
	request->cold = options_flag(options, "cold");
	request->remove_at_end = options_flag(options, "rm");
	request->force = options_flag(options, "force");
	if (take_resources(options, request, err) < 0 ||
	    take_words(options, store, request, err) < 0 ||
	    take_name(options, request, err) < 0)
		return -1;
	/* who names one that is there may stand anywhere, also at home */
	named = request->name && exists(store, request->name);
	if (request_take_shares(options, !named, request, err) < 0)
		return -1;
	if (request_take_net(options, store, request, err) < 0)
		return -1;
	return request_take_git(options, request, err);
}

void request_release(struct request *request)
{
	for (char **h = request->hide; h && *h; h++)
		free(*h);
	free(request->hide);
	free(request->template_name);
	json_decref(request->agents);
	free(request->ssh_keys);
	share_list_release(&request->shares);
	rule_words_release(&request->rules);
	socket_list_release(&request->sockets);
	memset(request, 0, sizeof(*request));
}

int request_check_name(const struct request *request, const char *name,
		       struct error *err)
{
	if (sandbox_name_check(name, err) < 0)
		return -1;
	if (agents_find(request->agents, name))
		return error_set(err, 0, "name \"%s\": is the name of an agent",
				 name);
	return 0;
}

const char *request_template(const struct request *request)
{
	const json_t *agent =
		agents_find(request->agents, request_agent(request));

	if (request->template_name)
		return request->template_name;
	return agent ? agent_text(agent, "template") : REQUEST_DEFAULT_TEMPLATE;
}

const char *request_agent(const struct request *request)
{
	return request->agent ? request->agent : REQUEST_DEFAULT_AGENT;
}
