/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_policy_learn.c - policy learn: rules that would have allowed what was
 * seen
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/net_log.h"
#include "cli/policy_set.h"
#include "cli/store.h"
#include "policy/policy_learn.h"
#include "wire/address.h"

#define RULES_MAX (16u * 1024 * 1024)

struct seen {
	struct net_log_entry *entries; /* owned, each with its texts */
	size_t count, room;
};

static void note(void *ctx, const char *line, size_t len)
{
	struct seen *seen = ctx;
	struct net_log_entry entry;

	if (net_log_decode(line, len, &entry) < 0)
		return;
	if (!net_log_is_outgoing(&entry) || entry.held) {
		net_log_release(&entry);
		return;
	}
	if (seen->count == seen->room) {
		seen->room = seen->room ? 2 * seen->room : 256;
		seen->entries = xrealloc(seen->entries,
					 seen->room * sizeof(*seen->entries));
	}
	seen->entries[seen->count++] = entry;
}

static void release(struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		net_log_release(&seen->entries[i]);
	free(seen->entries);
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

static int learn(const struct seen *seen, struct buffer *rules,
		 struct error *err)
{
	AUTO_FREE struct policy_seen *facts =
		xcalloc(seen->count + 1, sizeof(*facts));
	AUTO_FREE struct address *addresses =
		xcalloc(seen->count + 1, sizeof(*addresses));
	AUTO_FREE char *shared = policy_set_shared();

	for (size_t i = 0; i < seen->count; i++) {
		const struct net_log_entry *entry = &seen->entries[i];

		facts[i] = (struct policy_seen){
			.name = text_or_null(entry->name),
			.port = entry->port,
			.protocol = entry->protocol,
			.method = text_or_null(entry->method),
			.path = text_or_null(entry->path),
			.allowed = !entry->denied,
		};
		if (!*entry->name &&
		    address_parse(entry->address, strlen(entry->address),
				  &addresses[i]) == 0)
			facts[i].address = &addresses[i];
	}
	return policy_learn(facts, seen->count, shared, rules, err);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_BUFFER struct buffer rules = BUFFER_INIT(RULES_MAX);
	struct seen seen = { 0 };
	int result;

	if (sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	net_log_read(&sandbox, note, &seen);
	result = learn(&seen, &rules, err);
	release(&seen);
	if (result < 0)
		return -1;
	fwrite(rules.data, 1, rules.len, stdout);
	return 0;
}

const struct command command_policy_learn = {
	.name = "policy learn",
	.arguments = "NAME",
	.help = "print the fewest rules that allow what a sandbox did so far",
	.details = "From its log: first what was allowed, then what was "
		   "refused. Nothing is changed; take the lines that\nyou want "
		   "into the sandbox's file, or give them to `bawn policy "
		   "allow`.",
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
