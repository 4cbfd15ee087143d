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

struct error;

#define CHANGE_SET_ENTRIES_MAX 500000

struct set_entry {
	char *path;   /* owned; beneath the folder */
	char *target; /* owned; of a symbolic link, else NULL */
	mode_t mode;  /* S_IFREG, S_IFDIR or S_IFLNK, and permissions */
	uint64_t size, offset;
	int64_t mtime;
	uint32_t mtime_ns;
	bool deleted; /* the path is gone; nothing else counts */
	bool opaque;  /* a folder that replaces the one of the host */
};

struct change_set {
	int fd;                    /* owned; the archive */
	struct set_entry *entries; /* owned; sorted by path */
	size_t count;
};

#define CHANGE_SET_INIT ((struct change_set){ .fd = -1 })

/*
 * Takes fd. Fails when the archive is damaged, has a path twice, or one that
 * lies in something that is not a folder of the set. Release it in any case.
 */
int change_set_load(struct change_set *set, int fd, struct error *err);
void change_set_release(struct change_set *set);
#define AUTO_CHANGE_SET __attribute__((cleanup(change_set_release)))

/* NULL when the set does not have it. */
const struct set_entry *change_set_find(const struct change_set *set,
					const char *path);
/*
 * True when the guest does not see what the host has at path; of a folder:
 * what the host has in it.
 */
bool change_set_covers(const struct change_set *set, const char *path);
