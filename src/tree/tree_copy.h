/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_copy.h - the two ends of a copy: where it comes from and where it goes
 *
 * The rules are those of `docker cp`. The first entry of the archive says what
 * is copied: "" a folder's content, else one file or folder with its name. An
 * existing folder takes it in; a missing destination becomes it.
 */
#pragma once

#include <stdbool.h>

#include "tar/tar_read.h"

struct error;
struct tree_unpack;
struct tree_walk_setup;

/* A path as the user gave it. */
struct tree_place {
	int base; /* a descriptor, or AT_FDCWD */
	const char *path;
	bool beneath; /* links on the way may not lead out of base */
};

struct tree_unpack_setup {
	struct tree_place place;
	/* an archive from elsewhere: place is a folder that is there */
	bool as_it_is;
	/*
	 * TREE_OWNER_SAME, or who owns what lands in a folder where everybody
	 * may write; elsewhere it belongs to the folder's owner.
	 */
	uid_t owner;
	struct tar_limits limits;
};

/* setup->place.path is borrowed. */
struct tree_unpack *tree_unpack_new(const struct tree_unpack_setup *setup);
void tree_unpack_free(struct tree_unpack *unpack);
int tree_unpack_feed(struct tree_unpack *unpack, const void *bytes, size_t len,
		     struct error *err);
/* -1 also when the archive was cut off. */
int tree_unpack_finish(struct tree_unpack *unpack, struct error *err);

/*
 * The archive of a file or folder, named by the last part of the path; a path
 * that ends in "/." is a folder's content. A link at the end of the path is
 * copied as a link, unless a slash follows it.
 */
int tree_pack(const struct tree_place *place,
	      const struct tree_walk_setup *setup, struct error *err);
