/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_worktrees.h - linked work trees that a shared repository has elsewhere
 *
 * What git keeps for each of them (HEAD, index) lies in the repository. Where
 * the work tree itself is not shared, a git inside takes it for one that was
 * deleted, and `git gc` or `git worktree prune` would take the rest along.
 */
#pragma once

#include <jansson.h>

struct share_list;

#define GIT_WORKTREES_MAX 32 /* in all shares */

/* Adds held patterns (guard.h), behind all others. */
void git_worktrees_add(const struct share_list *shares, json_t *held);
