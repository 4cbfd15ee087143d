/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h - what the guard (guard.h) means for nodes and names
 *
 * The guest sees its own version of a held file (shadow.h), else the host's.
 * The first change makes the host's version the guest's own, by copy; the node
 * then means the copy. Renaming carries a file into the shadow or out of it.
 * Folders are always the host's; one that the guest emptied and removed, but
 * that is not empty on the host, is marked as gone.
 *
 * All is decided by names as they are when the request comes, and does nothing
 * for a share without guard. Functions return a negative errno, 0 for "not
 * held: go on", and 1 for "done here", unless they say otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/guard.h"
#include "files/node_table.h"

struct server;
struct share;

/*
 * How a folder stands. It is kept for the rest of a request; where it and all
 * folders above it are watched, as long as nothing was heard of their names,
 * but not for ever: a mount is not heard of.
 */
#define HELD_KEPT_MS 1000
#define HELD_FOLDERS 4 /* so many */

struct held_folder {
	const struct node *node; /* NULL: nothing kept */
	uint32_t generation;     /* of the node */
	uint32_t request;
	uint64_t names;    /* watch_names() at that time; 0: for this request */
	uint64_t until_ms; /* after that it is looked at again */
	bool has_own;      /* something of it is in the shadow */
	size_t path_len;
	struct guard_state state;
	char path[NODE_PATH_MAX];
};

struct held_folders {
	struct held_folder kept[HELD_FOLDERS];
	unsigned next; /* is replaced */
};

/*
 * A file that was seen where it is known to lie, in a folder that is kept, as
 * long as nothing was moved or removed anywhere since.
 */
struct held_place {
	const struct node *node; /* NULL: none */
	uint32_t generation;     /* of the node */
	uint64_t moves;          /* watch_moves() at that time */
	uint64_t until_ms;       /* after that it is looked for again */
};

/*
 * A name that stands for another file since this request: the guest's kernel
 * still believes what it was told of it for long (entry.h), but `bawn review`
 * may take away what is in the shadow.
 */
struct held_changed_name {
	uint64_t folder; /* its id; 0: none */
	unsigned share;
	char name[NODE_NAME_MAX + 1];
};

/* Sets a share up for the guard; before the process is locked. */
void held_init_share(struct server *server, struct share *share);

/* The guest's own version: 1 with *st; -ENOENT when the guest removed it. */
int held_stat(struct server *server, struct node *folder, const char *name,
	      struct statx *st);
/* 1: this entry is held (or the guest's own), 0: it is not. */
int held_is(struct server *server, struct node *folder, const char *name,
	    const struct statx *st);
/* Before the data or attributes of a node change; 0 or a negative errno. */
int held_before_content(struct server *server, struct node *node);
/* 1 and *fd, owned: make it there instead. -EEXIST as the guest sees it. */
int held_begin_create(struct server *server, struct node *folder,
		      const char *name, mode_t type, int *fd);
/* Of a folder that the guest removed before. */
int held_make_folder(struct server *server, struct node *folder,
		     const char *name);
/* Something of the host's is now there. */
void held_made(struct server *server, struct node *folder, const char *name);
/* The same of a new file, whose name was looked for when watch_moves() was
 * `moves`. */
void held_made_file(struct server *server, const struct node *node,
		    uint64_t moves);
/* 1 or a negative errno; `type` of the file that is to have another name. */
int held_may_link(struct server *server, const struct node *node,
		  struct node *folder, const char *name);
int held_unlink(struct server *server, struct node *folder, const char *name,
		const struct statx *st);
/* 1: the host keeps it; 2: it is gone on the host too. */
int held_rmdir(struct server *server, struct node *folder, const char *name,
	       const struct statx *st);

struct held_move {
	struct node *from, *to;
	const char *old_name, *new_name;
	unsigned flags;
	bool replaces;    /* st2 is what the guest sees at the new name */
	bool host_keeps;  /* set: that is still there, the guest sees another */
	struct statx st;  /* of what moves; afterwards of what it became */
	struct statx st2; /* of what is at the new name */
};

int held_rename(struct server *server, struct held_move *move);
/* The host's file system did it. */
void held_renamed(struct server *server, const struct held_move *move);

/* After the answer to a request: tells the guest of such a name. */
void held_tell(struct server *server);

/* Names that only the shadow has, by a number that does not change. */
typedef bool held_entry_fn(void *ctx, const char *name, mode_t type,
			   uint32_t position);
bool held_lists_own(struct server *server, struct node *folder);
int held_list(struct server *server, struct node *folder, uint32_t from,
	      held_entry_fn *fn, void *ctx);
