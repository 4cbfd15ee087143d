/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_reset.c - back to a machine without sandboxes
 *
 * Templates stay, since they take long to make, and so do rules and secrets:
 * they are the user's own words.
 */
#include "cli/command.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/disk_use.h"
#include "cli/print.h"
#include "cli/removal.h"
#include "cli/store.h"
#include "provision/layer_store.h"
#include "provision/warm.h"

static int confirm(const struct store *store, const struct options *options,
		   struct error *err)
{
	char question[160];

	if (options_flag(options, "force") || !store->count)
		return 0;
	if (!isatty(0) || !isatty(2))
		return error_set(err, 0,
				 "reset deletes every sandbox: without a "
				 "terminal it needs -f");
	text_format(question, sizeof(question),
		    "Remove all sandboxes (%zu) and everything on their disks?",
		    store->count);
	return print_ask(question) ? 0 : error_set(err, 0, "nothing removed");
}

/* The rest goes also when one cannot; the first failure is the result. */
static int remove_all(const struct store *store, uint64_t *freed,
		      struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < store->count; i++) {
		struct disk_use use;
		struct error one = { 0 };

		disk_use_of(store->folder, store->names[i], &use);
		if (removal_of(store, store->names[i], &one) == 0) {
			*freed += use.own;
			continue;
		}
		if (result < 0)
			fprintf(stderr, "bawn: %s\n", one.text);
		else
			*err = one;
		result = -1;
	}
	return result;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	uint64_t freed = 0, warm = 0;
	char size[32];
	size_t count;

	if (store_open(&store, err) < 0 || confirm(&store, options, err) < 0)
		return -1;
	count = store.count;
	if (remove_all(&store, &freed, err) < 0)
		return -1;
	store_clean(&store);
	if (warm_reset(&warm, err) < 0 || layer_store_clear(&warm, err) < 0)
		return -1;
	text_from_size(freed + warm, size, sizeof(size));
	printf("%zu sandbox%s removed, %s given back\n", count,
	       count == 1 ? "" : "es", size);
	return 0;
}

static const struct option_row rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_reset = {
	.name = "reset",
	.arguments = "",
	.help = "remove all sandboxes and warm images; templates, rules and "
		"secrets stay",
	.options = rows,
	.flags = COMMAND_USES_STORE,
	.failure_code = 1,
	.run = run,
};
