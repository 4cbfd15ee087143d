/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_mount.c - mount and umount
 *
 * The record says what the next start shares. Of a running sandbox the launcher
 * starts bawn-files anew with the new list; open files go on.
 */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/share_apply.h"
#include "cli/share_parse.h"
#include "cli/share_path.h"
#include "cli/store.h"

/* Opened, and nobody else changes it until lock is closed. */
static int open_locked(const char *name, struct sandbox *sandbox, int *lock,
		       struct error *err)
{
	if (sandbox_open(name, sandbox, err) < 0)
		return -1;
	*lock = fileio_lock(sandbox->folder, STORE_LOCK_FILE, FILEIO_LOCK_WAIT,
			    err);
	if (*lock < 0)
		return -1;
	/* what was read before may be old */
	sandbox_record_release(&sandbox->record);
	return sandbox_record_load(sandbox->folder, &sandbox->record, err);
}

/* A folder over one that is mounted already would cover it. */
static int check_cover(const struct share_list *list,
		       const struct share_record *share, struct error *err)
{
	char shown[256];

	for (size_t i = 0; i < list->count; i++) {
		if (!share_path_within(list->items[i].guest, share->guest))
			continue;
		text_printable(list->items[i].guest,
			       strlen(list->items[i].guest), shown,
			       sizeof(shown));
		return error_say(err, EBUSY,
				 "would cover %s, which is mounted already "
				 "(umount that first)",
				 shown);
	}
	return 0;
}

static int mount(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CLOSE int lock = -1;
	struct share_record share;
	int result;

	if (open_locked(options->words[0], &sandbox, &lock, err) < 0 ||
	    share_parse(options->words[1], SHARE_FORM_MOUNT, &share, err) < 0)
		return -1;
	share.added = true;
	result = share_check(&sandbox.record.shares, &share,
			     options_flag(options, "force") ? SHARE_FORCED
							    : SHARE_AS_USUAL,
			     err);
	if (result == 0)
		result = check_cover(&sandbox.record.shares, &share, err);
	if (result == 0) {
		share_list_add(&sandbox.record.shares, &share);
		result = share_apply(&sandbox, err);
	}
	share_release(&share);
	return result;
}

/* By either path; a folder of the host that is gone may still be named. */
static const struct share_record *find(const struct share_list *list,
				       const char *word)
{
	AUTO_FREE char *real = realpath(word, NULL);
	AUTO_FREE char *tidy = share_path_tidy(word);
	const struct share_record *found = NULL;

	if (tidy)
		found = share_list_find(list, tidy);
	if (!found && real)
		found = share_list_find(list, real);
	return found;
}

static int umount(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CLOSE int lock = -1;
	const char *word = options->words[1];
	const struct share_record *share;
	struct share_list *list = &sandbox.record.shares;
	char shown[256];

	text_printable(word, strlen(word), shown, sizeof(shown));
	if (open_locked(options->words[0], &sandbox, &lock, err) < 0)
		return -1;
	share = find(list, word);
	if (!share)
		return error_say(err, ENOENT,
				 "%s is not shared with %s (`bawn inspect` "
				 "shows what is)",
				 shown, sandbox.record.name);
	if (share == list->items)
		return error_say(err, EBUSY,
				 "%s is the workspace of %s and stays", shown,
				 sandbox.record.name);
	/* its changes are kept under its number, and numbers would move */
	if (!strcmp(sandbox.record.mode, "overlay"))
		return error_set(err, 0,
				 "%s keeps its folders, because it holds "
				 "changes over them (overlay mode)",
				 sandbox.record.name);
	share_list_remove(list, (size_t)(share - list->items));
	return share_apply(&sandbox, err);
}

static const struct option_row mount_rows[] = {
	{ "force", '\0', OPTION_FLAG, NULL, "share / or your home folder too",
	  NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_mount = {
	.name = "mount",
	.arguments = "NAME HOST[:GUEST[:ro]]",
	.help = "share one more folder or file with a sandbox",
	.details = "Of a running sandbox at once. GUEST is an absolute path in "
		   "the sandbox; without it the\npath is the same there as "
		   "here.",
	.options = mount_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = mount,
};

const struct command command_umount = {
	.name = "umount",
	.arguments = "NAME HOST|GUEST",
	.help = "stop sharing a folder or file with a sandbox",
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = umount,
};
