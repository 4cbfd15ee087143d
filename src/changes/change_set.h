/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_set.h - what a sandbox changed over a folder, frozen on the host
 *
 * The archive comes from the guest and is hostile. It is kept as a file, and
 * what is shown and what is applied are both read from that file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "changes/attributes.h"

struct error;

#define CHANGE_SET_ENTRIES_MAX 500000
/* All attributes of a set: they are kept in memory. */
#define CHANGE_SET_ATTRIBUTES_MAX (64u << 20)

struct set_entry {
	char *path;   /* owned; beneath the folder */
	char *target; /* owned; of a symbolic link, else NULL */
	mode_t mode;  /* S_IFREG, S_IFDIR or S_IFLNK, and permissions */
	uint64_t size, offset;
	int64_t mtime;
	uint32_t mtime_ns;
	bool deleted; /* the path is gone; nothing else counts */
	bool opaque;  /* a folder that replaces the one of the host */
	/* one of several names of a file: they have the same offset */
	bool linked;
	bool further; /* not the first: the attributes are borrowed from that */
	struct attributes attributes;
};

struct change_set {
	int fd;                    /* owned; the archive */
	struct set_entry *entries; /* owned; sorted by path */
	size_t count;
	/* owned; the linked ones, sorted by offset, then path */
	const struct set_entry **links;
	size_t link_count;
};

#define CHANGE_SET_INIT ((struct change_set){ .fd = -1 })

/*
 * Takes fd. Fails when the archive is damaged, has a path twice, one that lies
 * in something that is not a folder of the set, or a further name of what is
 * not a file of the set. Release it in any case.
 */
int change_set_load(struct change_set *set, int fd, struct error *err);
void change_set_release(struct change_set *set);
#define AUTO_CHANGE_SET __attribute__((cleanup(change_set_release)))

/* NULL when the set does not have it. */
const struct set_entry *change_set_find(const struct change_set *set,
					const char *path);
/* All names of a linked entry's file, also its own; *count of them. */
const struct set_entry *const *change_set_names(const struct change_set *set,
						const struct set_entry *entry,
						size_t *count);
/*
 * True when the guest does not see what the host has at path; of a folder:
 * what the host has in it.
 */
bool change_set_covers(const struct change_set *set, const char *path);
