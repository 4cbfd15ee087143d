/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_file.h - the small files by which git finds a repository that lies
 * elsewhere
 *
 * A guest can write them, so they only ever name a candidate (git_folder.c
 * checks that the other side agrees). Pure.
 */
#pragma once

#include <stddef.h>

#define GIT_FILE_MAX 4096

/*
 * The one line of a file such as `.git` ("gitdir: PATH") or `commondir`
 * (prefix ""): what stands behind the prefix, malloc'd. NULL when there is more
 * than that, nothing at all, or a NUL.
 */
char *git_file_line(const char *text, size_t len, const char *prefix);
/* The value of core.worktree in a git config, malloc'd; NULL when none. */
char *git_file_worktree(const char *text, size_t len);
