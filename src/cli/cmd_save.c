/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_save.c - save: the disk of a sandbox as a template
 */
#include "cli/command.h"

#include "cli/save.h"

static int run(const struct options *options, struct error *err)
{
	struct save_wish wish = { .sandbox = options->words[0],
				  .tag = options->words[1],
				  .output = options_value(options, "output") };

	return save_sandbox(&wish, err);
}

static const struct option_row rows[] = {
	{ "output", 'o', OPTION_VALUE, "FILE",
	  "write an archive, too: for `docker load`, skopeo, `template load`",
	  COMPLETE_FILES, OPTION_HERE },
	{ "squash", '\0', OPTION_FLAG, NULL,
	  "one layer with all files; every save makes one, so nothing changes",
	  NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_save = {
	.name = "save",
	.arguments = "NAME TAG",
	.help = "make a template of a sandbox's disk, and print its name",
	.details =
		"The sandbox may run, be suspended or stopped. Shared folders, "
		"secrets, and what tells\nthis sandbox from others are not in "
		"it.",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = run,
};
