/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_list.h - what applying a set of changes would do to the host's folder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct base_list;
struct change_set;
struct error;
struct hide_list;
struct set_entry;

enum change_kind {
	CHANGE_DELETED,
	CHANGE_NEW,
	CHANGE_MODIFIED,   /* content of a file or target of a link; all else */
	CHANGE_ATTRIBUTES, /* not the content; perhaps the mode */
	CHANGE_MODE,       /* nothing else */

	CHANGE_KINDS,
};

struct change {
	enum change_kind kind;
	char *path;                    /* owned */
	const struct set_entry *entry; /* borrowed; NULL when deleted */
	struct stat host;              /* unless new */
	const char *conflict;          /* static; NULL when there is none */
	/* borrowed; another name of the guest's file, NULL: there is none */
	const char *linked;
	/* change_guard.h: */
	bool held;     /* it, or what it lies in, is run or believed unasked */
	bool own;      /* it itself is */
	bool withheld; /* held, and nobody named it */
};

struct change_list {
	struct change *changes; /* owned; by path, deletions first */
	size_t count, room;
};

extern const char *const change_kind_names[CHANGE_KINDS];

struct change_context {
	const struct change_set *set;
	int root;                     /* the host's folder */
	const struct base_list *base; /* of all paths that the set covers */
	const struct hide_list *hide; /* what the guest must not see */
	/*
	 * Gets a record of each copy in the set that is the same as the
	 * host's file: no change, also when the host's becomes another. May be
	 * NULL.
	 */
	struct base_list *same;
};

/* Compares with what the host has now. */
int change_list_make(const struct change_context *context,
		     struct change_list *list, struct error *err);
void change_list_release(struct change_list *list);
#define AUTO_CHANGE_LIST __attribute__((cleanup(change_list_release)))

/*
 * Keeps what is one of the paths or lies beneath one; all when there are none.
 */
void change_list_select(struct change_list *list, const char *const *paths);
