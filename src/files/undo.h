/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo.h - what the guest changes is kept, so that it can be taken back
 *
 * Every operation that changes a share says so here right before its system
 * call, and undo_done() right after it succeeded; what an operation that
 * failed had written is cancelled by ops.c. The first change of an inode since
 * the last mark saves what it was like; a file that goes away is moved or
 * linked into the state folder where that is one file system, else copied;
 * what was made since the mark is not saved. One record is one write(2), and
 * nothing is synced: it outlives this process, and not a power failure.
 *
 * What could not be kept is written down as lost, and never stops the guest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "files/undo_set.h"

struct error;
struct journal_record;
struct node;
struct server;

struct undo {
	bool wanted;                 /* config.h */
	bool fresh;                  /* no predecessor: a run begins */
	int folder;                  /* owned: all segments; -1: off */
	int segment, files, journal; /* owned: the current one; -1 */
	unsigned number;             /* of the segment */
	uint32_t saved;              /* number of the last saved file */
	uint64_t journal_bytes, saved_bytes;
	uint64_t empty_bytes; /* of a journal without a change */
	bool is_run;          /* its mark is the start of a run */
	uint64_t older_bytes, limit_bytes;
	unsigned lost;    /* records of that kind */
	unsigned pending; /* records of the operation under way */
	bool cannot_move; /* files are copied out of the shares */
	struct undo_set set;
	struct timer prune;
	struct loop *loop;  /* borrowed */
	uint8_t *scratch;   /* owned: one record */
	uint8_t *xattrs;    /* owned */
	char *path, *path2; /* owned: NODE_PATH_MAX each */
};

/* Off until undo_start(). memory_fd: -1 or the nodes, still untouched. */
void undo_init(struct undo *undo, int memory_fd);
int undo_start(struct server *server, struct error *err);
void undo_release(struct server *server);
/* From here on changes are kept apart. */
int undo_mark(struct server *server, const char *label, struct error *err);

/* The operations. All of them do nothing when undo is off. */

/* Content (UNDO_DATA) or attributes (UNDO_META) of a node. */
void undo_change(struct server *server, struct node *node, unsigned what);
/* `name` in `folder`, where nothing is called so; target of a link or NULL. */
void undo_creating(struct server *server, struct node *folder, const char *name,
		   mode_t type, const char *target);
/* The same for one more name of a file that there is. */
void undo_linking(struct server *server, struct node *folder, const char *name,
		  struct node *file);
/* It was made: nothing of it need be saved; opened: and will be written. */
void undo_opened(struct server *server, unsigned share, const struct statx *st);
void undo_created(struct server *server, unsigned share,
		  const struct statx *st);
/*
 * `name` goes away. 1: it was moved out of the way, nothing is left to do; 0:
 * the caller removes it; or a negative errno.
 */
int undo_removing(struct server *server, struct node *folder, int dir,
		  const char *name, const struct statx *st);

struct undo_move {
	struct node *from, *to;
	int from_fd, to_fd;
	const char *old_name, *new_name;
	const struct statx *st;
	const struct statx *over; /* what new_name is now; NULL: nothing */
	unsigned flags;           /* of renameat2() */
};
void undo_moving(struct server *server, const struct undo_move *move);

/* The system call succeeded. */
void undo_done(struct server *server);
/* The request failed. */
void undo_cancel(struct server *server);
/* While files are being written: how long this process lived. */
void undo_beat(struct server *server);
/* How the guest left a file that it wrote, to tell a host's edit from it. */
void undo_settle(struct server *server, struct node *node);
