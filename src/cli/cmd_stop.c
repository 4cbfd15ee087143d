/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_stop.c - stop, rm, and the removal that a signal asked for
 */
#include "cli/command.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/disk_use.h"
#include "cli/halt.h"
#include "cli/print.h"
#include "cli/removal.h"
#include "cli/resume.h"
#include "cli/spelling.h"
#include "cli/store.h"

#define GRACE_MS 10000

/* As a power cut would: its disk boots next time. */
static int drop_memory(const struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int lock = fileio_lock(sandbox->folder, STORE_LOCK_FILE,
					  FILEIO_LOCK_WAIT, err);

	if (lock < 0)
		return -1;
	resume_forget(sandbox);
	return 0;
}

static int stop_one(const struct store *store, const char *name, bool power_off,
		    struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

	if (store_find(store, name, &sandbox, err) < 0)
		return -1;
	if (fileio_is_locked(sandbox.folder, STORE_ALIVE_FILE) != 1) {
		/* what was kept is not wanted any more */
		if (power_off && resume_is_suspended(&sandbox))
			return drop_memory(&sandbox, err);
		return 0;
	}
	if (power_off ? halt_folder(sandbox.folder, GRACE_MS, err) < 0
		      : halt_suspend(sandbox.folder, err) < 0)
		return error_prefix(err, "stopping %s", name);
	return 0;
}

/* All of them, also when one fails; the first failure is the result. */
static int for_each(const struct store *store, const struct options *options,
		    int (*act)(const struct store *store, const char *name,
			       bool flag, struct error *err),
		    bool flag, struct error *err)
{
	bool all = options_flag(options, "all");
	size_t count = all ? store->count : options->word_count;
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		const char *name = all ? store->names[i] : options->words[i];
		struct error one = { 0 };

		if (act(store, name, flag, &one) == 0)
			continue;
		if (result < 0)
			fprintf(stderr, "bawn: %s\n", one.text);
		else
			*err = one;
		result = -1;
	}
	return result;
}

static int check_names(const struct options *options, struct error *err)
{
	if (options_flag(options, "all") != (options->word_count > 0))
		return 0;
	return options_usage(err, "usage: bawn %s %s", options->command->name,
			     options->command->arguments);
}

static int stop(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;

	if (check_names(options, err) < 0 || store_open(&store, err) < 0)
		return -1;
	return for_each(&store, options, stop_one,
			options_flag(options, "power-off"), err);
}

static const struct option_row stop_rows[] = {
	{ "power-off", '\0', OPTION_FLAG, NULL,
	  "end the machine; its memory is lost", NULL, OPTION_HERE },
	{ "all", 'a', OPTION_FLAG, NULL, "stop every sandbox", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_stop = {
	.name = "stop",
	.arguments = "NAME... | --all",
	.help = "stop sandboxes; disk and memory are kept",
	.options = stop_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = stop,
};

static int exists(const struct store *store, const char *name, bool force,
		  struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

	(void)force;
	if (store_find(store, name, &sandbox, err) == 0)
		return 0;
	/* a damaged one can be removed; one that is not there cannot */
	for (size_t i = 0; i < store->count; i++)
		if (!strcmp(store->names[i], name))
			return 0;
	return -1;
}

static int remove_one(const struct store *store, const char *name, bool force,
		      struct error *err)
{
	struct disk_use use;
	char size[32];

	if (exists(store, name, force, err) < 0)
		return -1;
	disk_use_of(store->folder, name, &use);
	if (removal_of(store, name, err) < 0)
		return -1;
	/* scripts for that spelling expect no word */
	if (spelling_now() == SPELLING_BAWN) {
		text_from_size(use.own, size, sizeof(size));
		fprintf(stderr, "bawn: %s: %s given back\n", name, size);
	}
	return 0;
}

static int confirm(const struct store *store, const struct options *options,
		   struct error *err)
{
	bool all = options_flag(options, "all");
	size_t count = all ? store->count : options->word_count;
	char question[160];

	/* scripts for that spelling know no question */
	if (options_flag(options, "force") || !count ||
	    spelling_now() == SPELLING_DOCKER)
		return 0;
	if (!isatty(0) || !isatty(2))
		return error_set(err, 0,
				 "rm deletes the sandbox's disk: without a "
				 "terminal it needs -f");
	if (count == 1)
		text_format(question, sizeof(question),
			    "Remove sandbox %s and everything on its disk?",
			    all ? store->names[0] : options->words[0]);
	else
		text_format(question, sizeof(question),
			    "Remove %zu sandboxes and everything on their "
			    "disks?",
			    count);
	return print_ask(question) ? 0 : error_set(err, 0, "nothing removed");
}

static int rm(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	bool force = options_flag(options, "force");

	if (check_names(options, err) < 0 || store_open(&store, err) < 0)
		return -1;
	/* all of them are looked for before one is touched */
	if (!force && for_each(&store, options, exists, force, err) < 0)
		return -1;
	if (confirm(&store, options, err) < 0)
		return -1;
	return for_each(&store, options, remove_one, force, err);
}

static const struct option_row rm_rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ "all", 'a', OPTION_FLAG, NULL, "remove every sandbox", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_rm = {
	.name = "rm",
	.arguments = "NAME... | --all",
	.help = "remove sandboxes with all that is on their disks",
	.options = rm_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = rm,
};

/* What guard.c executes: the sandbox goes, then the signal's exit code. */
static int remove_later(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	uint64_t code = 1;

	if (sandbox_name_check(options->words[0], err) < 0 ||
	    text_to_u64(options->words[1], 0, 255, &code) < 0 ||
	    store_open(&store, err) < 0 ||
	    removal_of(&store, options->words[0], err) < 0)
		return -1;
	return (int)code;
}

const struct command command_remove_later = {
	.name = "__remove",
	.arguments = "NAME CODE",
	.help = "end a --rm sandbox",
	.flags = COMMAND_HIDDEN,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 125,
	.run = remove_later,
};
