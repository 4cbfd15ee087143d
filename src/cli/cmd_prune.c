/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_prune.c - give back what nothing needs
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint_prune.h"
#include "cli/store.h"
#include "provision/layer_store.h"
#include "provision/warm.h"

static void show_unused(void *ctx, const char *warm_key, uint64_t bytes)
{
	char size[32];

	text_from_size(bytes, size, sizeof(size));
	printf("warm image %s, %s\n", warm_key, size);
}

static void show_dropped(void *ctx, const struct sandbox *sandbox,
			 const char *label, uint64_t bytes)
{
	uint64_t *freed = ctx;
	char size[32];

	*freed += bytes;
	text_from_size(bytes, size, sizeof(size));
	printf("%s %s of %s, %s\n", label ? "checkpoint" : "half of a",
	       label ? label : "checkpoint", sandbox->record.name, size);
}

/* A sandbox that a command is changing is left for the next time. */
static void prune_checkpoints(const struct store *store,
			      enum checkpoint_prune_mode mode, uint64_t *freed)
{
	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		AUTO_CLOSE int lock = -1;
		struct error err = { 0 };

		if (store_find(store, store->names[i], &sandbox, NULL) < 0)
			continue;
		lock = fileio_lock(sandbox.folder, STORE_LOCK_FILE,
				   FILEIO_LOCK_TRY, NULL);
		if (lock >= 0 && checkpoint_prune(&sandbox, mode, show_dropped,
						  freed, &err) < 0)
			fprintf(stderr, "bawn: %s: %s\n", store->names[i],
				err.text);
	}
}

static int dry_run(const struct store *store, struct error *err)
{
	size_t leftovers = store_leftovers(store);
	uint64_t bytes = 0, layers;
	char size[32];

	if (leftovers)
		printf("half-made sandboxes: %zu\n", leftovers);
	prune_checkpoints(store, CHECKPOINT_PRUNE_DRY, &bytes);
	if (layer_store_bytes(&layers, err) < 0)
		return -1;
	text_from_size(layers, size, sizeof(size));
	if (layers)
		printf("cached layers of images, %s\n", size);
	return warm_each_unused(show_unused, NULL, err);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	uint64_t freed = 0, checkpoints = 0;
	char size[32];

	if (store_open(&store, err) < 0)
		return -1;
	if (options_flag(options, "dry-run"))
		return dry_run(&store, err);
	store_clean(&store);
	prune_checkpoints(&store, CHECKPOINT_PRUNE, &checkpoints);
	if (warm_prune(&freed, err) < 0 || layer_store_clear(&freed, err) < 0)
		return -1;
	text_from_size(freed + checkpoints, size, sizeof(size));
	printf("%s given back\n", size);
	return 0;
}

static const struct option_row rows[] = {
	{ "dry-run", '\0', OPTION_FLAG, NULL,
	  "show what could go, and remove nothing", NULL, OPTION_HERE },
	{ "filter", '\0', OPTION_LIST, "until=DURATION", "", NULL,
	  OPTION_LATER },
	{ .name = NULL },
};

const struct command command_prune = {
	.name = "prune",
	.arguments = "",
	.help = "remove warm images, cached layers and leftovers that "
		"nothing needs",
	.options = rows,
	.failure_code = 1,
	.run = run,
};
