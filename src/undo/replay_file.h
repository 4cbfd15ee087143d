/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file.h - files of a workspace, put back
 *
 * Modes have no set-id bits, contents come from regular files only, a file is
 * complete under another name before it gets its own. All return -1 with
 * errno.
 */
#pragma once

#include <stdbool.h>

struct journal_file;
struct journal_record;
struct replay;
struct scan;

/* place_parent(), also through folders that their owner may not enter. */
int file_parent(int root, const char *path, const char **name);
/* place_stat(), likewise. */
int file_stat(int root, const char *path, struct journal_file *file);
/* What an open one is. */
int file_know(int fd, struct journal_file *file);
int file_set_times(int fd, const struct journal_file *file);
int file_remove(int folder, const char *name, int flags);
int file_move(int from, const char *from_name, int to, const char *to_name,
	      unsigned flags);
bool file_link_is(int root, const char *path, const char *target);
/* What a REMOVE tells of, as `name` in folder, where nothing is. */
int file_bring_back(struct replay *replay, const struct scan *scan,
		    const struct journal_record *record, int folder,
		    const char *name);
/* A symbolic link that was just made so: its times, and whose place it has. */
int file_know_link(struct replay *replay, const struct scan *scan,
		   const struct journal_record *record, int folder,
		   const char *name);
/*
 * The inode of a CHANGE where it lies among the saved files (O_PATH); -1: it is
 * not there.
 */
int file_saved_inode(const struct scan *scan,
		     const struct journal_record *record,
		     struct journal_file *now);
/* Puts a CHANGE back into that inode, and so into all its names. */
int file_put_in_place(struct replay *replay, const struct scan *scan,
		      const struct journal_record *record, int fd);
/* What a CHANGE tells of. */
int file_put_content(struct replay *replay, const struct scan *scan,
		     const struct journal_record *record);
int file_put_attributes(struct replay *replay, const struct scan *scan,
			const struct journal_record *record, bool times);
