/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_prune.c - give back what nothing needs
 */
#include "cli/command.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/store.h"
#include "provision/warm.h"
#include "state/paths.h"

AUTO_DEFINE(dir, DIR *, closedir)

static bool in_use(const struct store *store, const char *warm_key)
{
	bool found = false;

	for (size_t i = 0; i < store->count && !found; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		if (store_find(store, store->names[i], &sandbox, NULL) == 0)
			found = sandbox.record.warm_key &&
				!strcmp(sandbox.record.warm_key, warm_key);
	}
	return found;
}

static int dry_run(const struct store *store, struct error *err)
{
	AUTO_CLOSE int folder = paths_open(PATHS_DATA, "warm", err);
	AUTO(dir) DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	const struct dirent *entry;
	size_t leftovers = store_leftovers(store);

	if (!dir)
		return -1;
	(void)TAKE_FD(folder);
	if (leftovers)
		printf("half-made sandboxes: %zu\n", leftovers);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
		    !in_use(store, entry->d_name))
			printf("warm image %s, unless a start would use it\n",
			       entry->d_name);
	return 0;
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
	if (warm_prune(&freed, err) < 0)
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
	.help = "remove warm images and leftovers that nothing needs",
	.options = rows,
	.failure_code = 1,
	.run = run,
};
