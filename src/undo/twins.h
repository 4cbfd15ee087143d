/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins.h - where a file of several names lies now
 *
 * What was saved on another file system comes back as a copy, once for each
 * name that was removed. So that a file of several names is one again, a name
 * of it that is there already gets the others: one that was never removed,
 * which is searched for once, or the copy that an earlier step made. So it is
 * with symbolic links, which are always made anew. What an undo that was cut
 * off has made is known by its inode alone, and searched for as well.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "undo/inode_map.h"

struct journal_record;
struct scan;
struct twin;

struct twins {
	struct twin *slots; /* owned */
	size_t size, count;
	struct inode_map wanted; /* that a search looks for */
	uint64_t searched;       /* shares of this segment, a bit each */
	uint64_t located;        /* likewise, for what an earlier undo made */
	unsigned searches;       /* again, for what was moved since */
};

/* Another segment is taken back from now on. */
void twins_begin(struct twins *twins);
/* What was the inode `was` is `now`, at this path below root (borrowed). */
void twins_put(struct twins *twins, const struct journal_file *was, int root,
	       const char *path, const struct journal_file *now);
/* The same of an undo that was cut off: where it lies is not known. */
void twins_recall(struct twins *twins, const struct journal_file *was,
		  const struct journal_file *now);
/*
 * Gives the file of a REMOVE, where it has a name, one more: `name` in folder.
 * -1: it has none, or it is not possible.
 */
int twins_link(struct twins *twins, const struct scan *scan,
	       const struct journal_record *record, int folder,
	       const char *name);
void twins_release(struct twins *twins);
