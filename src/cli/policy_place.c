/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_place.c - which sandbox a command about the network means
 */
#include "cli/policy_place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"

const struct option_row policy_place_rows[] = {
	{ "sandbox", '\0', OPTION_VALUE, "NAME",
	  "the sandbox that is meant (that of the current folder)",
	  COMPLETE_SANDBOXES, OPTION_HERE },
	{ "global", 'g', OPTION_FLAG, NULL, "all sandboxes", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

/* The length of the workspace that here lies in; 0 when it does not. */
static size_t nearness(const struct sandbox *sandbox, const char *here)
{
	const struct share_list *shares = &sandbox->record.shares;

	if (!shares->count || sandbox->record.remove_at_end ||
	    !share_path_within(here, shares->items[0].host))
		return 0;
	return strlen(shares->items[0].host);
}

int policy_place_here(const struct store *store, struct sandbox *sandbox,
		      struct error *err)
{
	AUTO_FREE char *here = getcwd(NULL, 0);
	size_t best = 0;

	*sandbox = SANDBOX_INIT;
	for (size_t i = 0; here && i < store->count; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;
		size_t near;

		if (store_find(store, store->names[i], &one, NULL) < 0)
			continue;
		near = nearness(&one, here);
		if (near < best || !near ||
		    (near == best &&
		     one.record.last_used <= sandbox->record.last_used))
			continue;
		sandbox_close(sandbox);
		*sandbox = one;
		one = SANDBOX_INIT;
		best = near;
	}
	return best ? 0
		    : error_say(err, ENOENT,
				"this folder has no sandbox (name one, or "
				"give -g for all)");
}

static int by_option(const struct options *options, const struct store *store,
		     struct policy_place *place, struct error *err)
{
	const char *name = options_value(options, "sandbox");

	place->global = options_flag(options, "global");
	if (name && place->global)
		return options_usage(err, "--sandbox and --global: give one");
	if (place->global)
		return 1;
	if (!name)
		return 0;
	return store_find(store, name, &place->sandbox, err) < 0 ? -1 : 1;
}

int policy_place_find(const struct options *options, size_t after,
		      struct policy_place *place, size_t *used,
		      struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	size_t skip =
		options->word_count && !strcmp(options->words[0], "network");
	size_t count = options->word_count - skip;
	int found;

	*used = skip;
	if (store_open(&store, err) < 0)
		return -1;
	found = by_option(options, &store, place, err);
	if (found < 0)
		return -1;
	if (count > after + !found || count < after)
		return options_usage(err, "usage: bawn %s %s",
				     options->command->name,
				     options->command->arguments);
	if (found)
		return 0;
	if (count == after)
		return policy_place_here(&store, &place->sandbox, err);
	++*used;
	return store_find(&store, options->words[skip], &place->sandbox, err);
}
