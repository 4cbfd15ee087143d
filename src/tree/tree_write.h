/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_write.h - entries of an archive, written beneath a folder
 *
 * The entries are hostile: no link is followed, no device, FIFO or socket is
 * made, no file gets set-user-id, set-group-id or sticky bits, and a hard link
 * leads only to a file that this writer made or adopted. A file appears whole
 * or not at all: it is written without a name, or under a temporary one.
 */
#pragma once

#include "tar/tar.h"

struct error;
struct stat;
struct tree_writer;

struct tree_writer_setup {
	int root;  /* borrowed; stays open as long as the writer lives */
	uid_t uid; /* who owns what is made; TREE_OWNER_SAME: whoever we are */
	gid_t gid;
	/*
	 * An attribute that is refused is a failure, unless the file system
	 * keeps none at all; else attributes are a courtesy.
	 */
	bool exact;
};

#define TREE_OWNER_SAME ((uid_t)-1)

struct tree_writer *tree_writer_new(const struct tree_writer_setup *setup);
/* Removes a file that was not finished. */
void tree_writer_free(struct tree_writer *writer);

/* In the order of struct tar_events; entry->path is beneath the root. */
int tree_writer_entry(struct tree_writer *writer, const struct tar_entry *entry,
		      struct error *err);
int tree_writer_data(struct tree_writer *writer, const void *bytes, size_t len,
		     struct error *err);
int tree_writer_end(struct tree_writer *writer, struct error *err);
/* Forgets a file that was begun, as after a failure. */
void tree_writer_abandon(struct tree_writer *writer);
/* Hard links may lead to this file of the root as well, which the caller has
 * looked at. */
void tree_writer_adopt(struct tree_writer *writer, const char *path,
		       const struct stat *st);
/* How many entries are without their attributes, which nobody keeps here. */
size_t tree_writer_unkept(const struct tree_writer *writer);
/* Gives folders their modes and times, which had to wait until now. */
int tree_writer_finish(struct tree_writer *writer, struct error *err);
