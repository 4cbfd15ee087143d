/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_guard.c - what the guard says of a sandbox's changes
 */
#include <errno.h>
#include <jansson.h>

#include "base/error.h"
#include "base/guard_root.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/changes_internal.h"
#include "cli/git_trusts.h"
#include "cli/git_worktrees.h"
#include "cli/held_links.h"
#include "cli/store.h"
#include "state/guard_file.h"
#include "state/share_list.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* As bawn-files gets them in direct mode, but as of now. */
int changes_load_guard(struct changes *changes, struct error *err)
{
	AUTO(json) json_t *held = json_array();
	struct guard_file file;
	json_t *line;
	size_t i;

	if (guard_file_load(&file, err) < 0)
		return -1;
	for (i = 0; i < file.held_count; i++)
		json_array_append_new(held, json_string(file.held[i]));
	i = file.held_count - json_array_size(held);
	guard_file_release(&file);
	if (i)
		return error_set(err, EILSEQ, "guard");
	git_trusts_add(&changes->sandbox->record.shares, held);
	held_links_add(&changes->sandbox->record.shares, held, NULL);
	git_worktrees_add(&changes->sandbox->record.shares, held);
	guard_list_release(&changes->guard);
	json_array_foreach(held, i, line)
	{
		if (guard_list_add(&changes->guard, GUARD_HELD,
				   json_string_value(line)) < 0)
			return error_set(err, 0, "guard: too many patterns");
	}
	return 0;
}

void changes_mark_held(const struct changes *changes, struct changes_share *one)
{
	one->guard.list = &changes->guard;
	one->guard.folder = one->root;
	one->guard.folds_case = guard_root_folds_case(one->root);
	guard_root_enter(&changes->guard, one->root, one->share->host,
			 &one->guard.root);
	guard_enter_share(&changes->guard, ".git", &one->guard.git);
	change_guard_mark(&one->guard, &one->list, one->paths);
}

bool changes_may_link(struct changes_share *one, const char *path)
{
	return !hide_list_matches(&one->hide, path, HIDE_FILE) &&
	       !change_guard_holds(&one->guard, &one->list, path);
}

char *changes_held_name(const struct changes_share *one,
			const struct change *change)
{
	AUTO_FREE char *name =
		change_guard_name(&one->guard, &one->list, change->path);
	AUTO_FREE char *above =
		one->number ? xasprintf("%s/", one->share->host) : xstrdup("");

	return diff_text_quote(above, name);
}
