/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - which files a guest must not plant for the host
 *
 * A held file is run or believed by a tool on the host without being asked; a
 * shown one is run by people who know what they do. What a file is depends on
 * the names on its path alone, so nothing that happens at the same time can
 * change it. Only what is not a folder has a class; but a symbolic link in the
 * place of a folder on the way to a held file is held too, since it would bring
 * another folder there. Pure.
 *
 * Patterns are those of path_pattern.h and apply at any depth, or from the
 * share's root with `/` in front. `!` in a list of held ones is an exception;
 * the last match wins. `=` in front: letters match in their own case only,
 * where the file system tells them apart. A name's dots and spaces at its end
 * do not count: some file systems drop them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_PATTERNS_MAX 512
#define GUARD_PATTERN_BYTES_MAX 255

enum guard_class {
	GUARD_FREE,
	GUARD_SHOWN,
	GUARD_HELD,
};

struct guard_pattern;

struct guard_list {
	struct guard_pattern *patterns; /* owned */
	size_t count;
};

/* How far each pattern has come on the way to a folder. */
struct guard_state {
	uint64_t at[GUARD_PATTERNS_MAX];
};

/* -1 when it is too long, too deep or one too many. */
int guard_list_add(struct guard_list *list, enum guard_class class,
		   const char *pattern);
void guard_list_release(struct guard_list *list);

/*
 * The root of a share: what it is called counts, and where it lies in a
 * repository; what the folders above are called otherwise does not.
 */
void guard_enter_share(const struct guard_list *list, const char *host_path,
		       struct guard_state *state);
void guard_enter(const struct guard_list *list, const char *name,
		 struct guard_state *state);
/* path: components with slashes between them, or "" */
void guard_enter_path(const struct guard_list *list, const char *path,
		      struct guard_state *state);
/* What is held in the other folder is held in this one too. */
void guard_join(const struct guard_list *list, const struct guard_state *other,
		struct guard_state *state);

/* Facts about an entry. */
struct guard_entry {
	const char *name;
	mode_t type;     /* S_IFMT part; of a folder the class is free */
	bool folds_case; /* the file system does not tell `a` from `A` */
};
enum guard_class guard_classify(const struct guard_list *list,
				const struct guard_state *folder,
				const struct guard_entry *entry);
/* Whatever a file in this folder is called, it is held, but for exceptions. */
bool guard_holds_all(const struct guard_list *list,
		     const struct guard_state *folder);
/*
 * A folder of this name must not come or go by renaming: what is beneath it
 * would change its class.
 */
bool guard_is_bound(const struct guard_list *list,
		    const struct guard_state *folder, const char *name);
