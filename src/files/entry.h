/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - a name in a folder becomes a node and what the guest is told of it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <linux/fuse.h>

struct node;
struct op;

/* What entry_before() has found. */
struct entry_seen {
	uint32_t request; /* as node_fds counts them */
	int result;
	struct statx st;
};

/*
 * How long the guest's kernel may believe us, in seconds. Where we watch the
 * folder a change is announced at once; elsewhere it shows after a second.
 */
#define ENTRY_WATCHED_S 600
#define ENTRY_UNWATCHED_S 1

/*
 * One entry as the guest may see it: -ENOENT also for what is hidden or bawn's
 * own. 0 or a negative errno.
 */
int entry_stat(struct op *op, struct node *folder, const char *name,
	       struct statx *st);
/* The same of the request's own name, as it was before anything was done: the
 * second time in a request from memory. */
int entry_before(struct op *op, struct statx *st);
/*
 * Gives the guest one reference to the node of `st`, which was just seen as
 * `name` in `folder`. *given may be NULL.
 */
int entry_give(struct op *op, struct node *folder, const char *name,
	       struct statx *st, struct fuse_entry_out *out,
	       struct node **given);
/* entry_stat(), entry_give() and the reply. */
int entry_reply(struct op *op, struct node *folder, const char *name);
/* Attributes of a node, with how long they hold. */
void entry_attr(struct op *op, struct node *node, const struct statx *st,
		struct fuse_attr_out *out);
/* The node of an entry, if the guest has one; no reference is given. */
struct node *entry_known(struct op *op, const struct statx *st);
/*
 * It was seen at this name. A file of several names keeps the one that is
 * remembered as long as that leads to it: a name that comes and goes must not
 * take the other one along, by which a successor finds the file. But a held
 * name counts more than any other. As node_table_place().
 */
int entry_place(struct op *op, struct node *node, const struct statx *st,
		struct node *folder, const char *name);
/* The entry lies elsewhere now. May free what no lookup keeps. */
void entry_moved(struct op *op, const struct statx *st, struct node *folder,
		 const char *name);
