/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - paths of a journal in a workspace, beneath its root
 *
 * The guest may have put links anywhere: no step follows one, and none leads
 * out of the root. A share that is a single file has one path, "".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_file;
struct journal_record;
struct statx;

/*
 * Opens the folder that `path` lies in (O_PATH); *name points into path, and
 * is "." for the root itself. -1 with errno.
 */
int place_parent(int root, const char *path, const char **name);
/* What lies there now; -1 with errno. */
int place_stat(int root, const char *path, struct journal_file *file);
void place_file(const struct statx *st, struct journal_file *file);
bool place_same_inode(const struct journal_file *a,
		      const struct journal_file *b);
/*
 * Whether the change of a record was made, when no later one was: the process
 * may have ended between the two.
 */
bool place_happened(int root, const struct journal_record *record);
