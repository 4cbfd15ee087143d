/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_folder.h - the git folder that a workspace needs and does not hold: of a
 * linked worktree, or of a submodule
 */
#pragma once

struct share_record;

/*
 * 0 and the folder, to be shared beside the workspace; -1 when it needs none,
 * or when the two do not point at each other.
 */
int git_folder_of(const struct share_record *workspace,
		  struct share_record *git);
