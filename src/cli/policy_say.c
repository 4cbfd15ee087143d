/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_say.c - one line on which policy a new sandbox has
 */
#include "cli/policy_say.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "cli/ask_mark.h"
#include "cli/policy_set.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "policy/policy_rules.h"

#define MISSED_MAX 1024

static void add_target(void *ctx, const struct policy_rules_item *item)
{
	struct buffer *list = ctx;
	const char *host = strrchr(item->target, ' ');

	host = host ? host + 1 : item->target;
	if (!strcmp(item->action, "allow"))
		buffer_printf(list, "%s%.*s", list->len ? "," : "",
			      (int)strcspn(host, "/"), host);
}

/* Of deny-all: what the agent cannot do without, and how it gets it. */
static void say_missed(const struct sandbox *sandbox)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(MISSED_MAX);
	AUTO_FREE char *rules = policy_set_agent(sandbox->record.agent);

	if (!rules || policy_rules_list(rules, strlen(rules), add_target, &list,
					NULL) < 0)
		return;
	if (list.len)
		fprintf(stderr,
			"bawn: %s will miss its own hosts (`bawn policy allow "
			"%s '%s'` allows them)\n",
			sandbox->record.agent, sandbox->record.name,
			buffer_str(&list));
}

static void say_mark(void)
{
	char mark[ASK_MARK_SIZE];
	bool is_new;

	if (ask_mark_load(mark, &is_new, NULL) == 0)
		fprintf(stderr,
			"bawn: its questions carry your mark: %s (what has not "
			"is not from bawn)\n",
			mark);
}

int policy_say(const struct sandbox *sandbox, struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;
	const char *name = sandbox->record.name;

	if (policy_set_load(sandbox, &set, err) < 0)
		return -1;
	policy = policy_set_compile(&set, err);
	if (!policy)
		return -1;
	progress_view_clear();
	if (policy_allows_by_default(policy))
		fprintf(stderr,
			"bawn: network policy %s: all is open but private "
			"addresses (`bawn policy deny %s HOST` closes one)\n",
			set.preset, name);
	else
		fprintf(stderr,
			"bawn: network policy %s: what no rule allows is "
			"blocked (`bawn policy allow %s HOST` opens one, `bawn "
			"policy ls %s` lists them)\n",
			set.preset, name, name);
	if (!strcmp(set.preset, "deny-all"))
		say_missed(sandbox);
	if (sandbox->record.ask)
		say_mark();
	return 0;
}
