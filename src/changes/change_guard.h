/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_guard.h - which changes are applied only when somebody names them
 *
 * The guard (guard.h) says which files a tool of the host runs or believes
 * unasked. A change is held when the guest's version or the host's is such a
 * file. Where one takes the place of the other (a link that of `.vscode`, a
 * folder that of a `.git` file), what lies beneath it is held with it: neither
 * half of that may come alone.
 *
 * To name a held change is to give its path, or a folder above it in which all
 * is held (`.git/hooks`); `.git` names a file of this name, not what is in it.
 * What the host has beneath a folder that is replaced goes with the folder.
 *
 * A folder with a HEAD is a repository by any name, and what is held in `.git`
 * is held in it; whether the host has the HEAD already or it is a change too.
 */
#pragma once

#include <stdbool.h>

#include "base/guard.h"

struct change_list;

#define CHANGE_GUARD_REASON "a tool of the host runs or believes it unasked"

struct change_guard {
	const struct guard_list *list; /* borrowed */
	struct guard_state root, git;  /* git: that of any `.git` */
	int folder;                    /* the host's, borrowed; -1: none */
	bool folds_case;
};

/*
 * Sets held, own and withheld of all changes; of the whole list, before some
 * are selected. paths is NULL-terminated.
 */
void change_guard_mark(const struct change_guard *guard,
		       struct change_list *list, const char *const *paths);
/* Whether a file of this path is held; list: the changes that come with it. */
bool change_guard_holds(const struct change_guard *guard,
			struct change_list *list, const char *path);
/* What to give to name this one: itself or a folder above; malloc'd. */
char *change_guard_name(const struct change_guard *guard,
			const struct change_list *list, const char *path);
