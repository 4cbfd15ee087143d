/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_shares.h - the folders of a sandbox that an undo may change
 */
#pragma once

#include <stddef.h>

#include "state/share_list.h"

struct error;
struct sandbox_record;

struct undo_share {
	char *path; /* owned: on the host */
	int root;   /* owned, O_PATH; -1: not there now */
};

struct undo_shares {
	struct undo_share list[SHARE_LIST_MAX];
	size_t count;
};

/*
 * Opens what the record says the guest may write. No link is followed: one
 * share may lie in another.
 */
int undo_shares_open(struct undo_shares *shares,
		     const struct sandbox_record *record, struct error *err);
void undo_shares_release(struct undo_shares *shares);
/* Borrowed; -1 when the record does not name it. */
int undo_shares_root(const struct undo_shares *shares, const char *path);
/* Root becomes who bawn-files ran as: the owner of the first share. */
int undo_shares_take_owner(const struct undo_shares *shares, struct error *err);
