/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.h - what a sandbox in overlay mode changed, frozen in its folder
 *
 * sandboxes/NAME/changes/N.tar   what `bawn diff` showed of share N
 * sandboxes/NAME/changes/N.base  the host's folder that the changes stand on
 * sandboxes/NAME/changes/N.used  what they added, when there is a quota
 */
#pragma once

#include <stddef.h>

#include "base/hide_pattern.h"
#include "changes/base_file.h"
#include "changes/change_guard.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "changes/diff_text.h"

struct apply_setup;
struct error;
struct sandbox;
struct share_record;

struct changes_share {
	unsigned number;                  /* in the record and in the guest */
	const struct share_record *share; /* borrowed */
	int root;                         /* owned: the host's folder */
	char *prefix;                     /* owned: of paths in a diff */
	const char **paths; /* owned, NULL-terminated; the texts too */
	bool wanted;        /* a path names it, or none was given */
	struct hide_list hide;
	struct change_set set;
	struct base_list base;
	struct change_list list;
	struct change_guard guard;
};

struct changes {
	struct sandbox *sandbox;      /* borrowed */
	int folder, lock;             /* owned */
	struct changes_share *shares; /* owned */
	size_t count;
	struct guard_list guard;
};

#define CHANGES_INIT ((struct changes){ .folder = -1, .lock = -1 })

/* Of a new sandbox: notes what the host's folders are. */
int changes_begin(const struct sandbox *sandbox, struct error *err);

/* paths is NULL-terminated; empty means all. Others wait until it is closed. */
int changes_open(struct changes *changes, struct sandbox *sandbox,
		 const char *const *paths, struct error *err);
void changes_close(struct changes *changes);
#define AUTO_CHANGES __attribute__((cleanup(changes_close)))

/* Asks the guest, which is started if need be, and keeps what it says. */
int changes_freeze(struct changes *changes, struct error *err);
/*
 * Reads what was kept, compares it with the host and selects the paths.
 * err->code is ENOENT when nothing was kept.
 */
int changes_load(struct changes *changes, struct error *err);
/* After applying: the host's files are now what the changes stand on. */
int changes_note_applied(struct changes *changes, size_t share,
			 const bool *applied, struct error *err);
/*
 * Before and after all changes of a share are dropped: what the host has now is
 * what the next ones stand on.
 */
int changes_look(const struct changes *changes, const struct changes_share *one,
		 struct error *err);
int changes_rebase(const struct changes *changes,
		   const struct changes_share *one, struct error *err);
/* Nothing is kept any more: `bawn apply` asks the guest again. */
void changes_forget(struct changes *changes);
/* What to type to name a held change, fit for a terminal; malloc'd. */
char *changes_held_name(const struct changes_share *one,
			const struct change *change);
/*
 * Whether a path may become one of several names of a file: not what is held
 * or hidden, or a change of the one would be one of the other.
 */
bool changes_may_link(struct changes_share *one, const char *path);
/*
 * -1 when what is to be applied to a share, with all that was, is more than the
 * sandbox's quota. setup and made as of apply_room_growth().
 */
int changes_quota_check(const struct changes *changes, size_t share,
			const struct apply_setup *setup, struct error *err);
/* Counts what was applied. */
int changes_quota_note(const struct changes *changes, size_t share,
		       const struct apply_setup *setup, const bool *made,
		       struct error *err);
/* How many files and links; folders do not count. */
size_t changes_count(const struct changes *changes);
