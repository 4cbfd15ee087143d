/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_prune.c - give back what nothing needs
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/store.h"
#include "provision/layer_store.h"
#include "provision/warm.h"

static void show_unused(void *ctx, const char *warm_key, uint64_t bytes)
{
	char size[32];

	text_from_size(bytes, size, sizeof(size));
	printf("warm image %s, %s\n", warm_key, size);
}

static int dry_run(const struct store *store, struct error *err)
{
	size_t leftovers = store_leftovers(store);
	uint64_t layers;
	char size[32];

	if (leftovers)
		printf("half-made sandboxes: %zu\n", leftovers);
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
	uint64_t freed = 0;
	char size[32];

	if (store_open(&store, err) < 0)
		return -1;
	if (options_flag(options, "dry-run"))
		return dry_run(&store, err);
	store_clean(&store);
	if (warm_prune(&freed, err) < 0 || layer_store_clear(&freed, err) < 0)
		return -1;
	text_from_size(freed, size, sizeof(size));
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
