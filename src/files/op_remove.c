/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_remove.c - UNLINK, RMDIR, RENAME, RENAME2
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "files/entry.h"
#include "files/held.h"

/* What goes away by an operation, seen before it. */
struct victim {
	struct node *node; /* NULL: the guest does not know it */
	uint64_t blocks;
	bool last; /* no other name */
	bool exists;
};

/*
 * The guest may have it open, which we are not told; so it keeps a descriptor
 * until the guest's kernel forgets it.
 */
static void prepare(struct op *op, struct node *folder, const char *name,
		    const struct statx *st, struct victim *victim)
{
	*victim = (struct victim){ .node = entry_known(op, st),
				   .blocks = st->stx_blocks,
				   .last = S_ISDIR(st->stx_mode) ||
					   st->stx_nlink == 1,
				   .exists = true };
	if (!victim->node)
		return;
	entry_place(op, victim->node, st, folder, name);
	node_fds_path(&op->server->fds, victim->node);
}

static bool lies_at(struct op *op, const struct node *node,
		    const struct node *folder, const char *name)
{
	char own[NODE_NAME_MAX + 1];

	return node_parent(op->server->nodes, node) == folder &&
	       node_name(op->server->nodes, node, own) &&
	       strcmp(own, name) == 0;
}

static void bury(struct op *op, const struct node *folder, const char *name,
		 const struct victim *victim)
{
	struct node *node = victim->node;

	if (!victim->exists)
		return;
	if (!node) {
		if (victim->last)
			policy_removed(op->server, op->share_index,
				       victim->blocks);
		return;
	}
	if (victim->last)
		node->flags |= NODE_ORPHAN;
	if (lies_at(op, node, folder, name))
		node_table_displace(op->server->nodes, node);
}

static int remove_name(struct op *op, mode_t type, int flags)
{
	const char *name = op->request->name;
	struct policy_change change = { .what = POLICY_REMOVE,
					.node = op->node,
					.name = name,
					.type = type };
	struct victim victim;
	struct statx st;
	int fd, held, moved = 0, failed = policy_change(op->server, &change);

	if (!failed)
		failed = entry_before(op, &st);
	if (failed)
		return failed;
	/* Where a read-only share begins is not for this one to remove. */
	if (policy_is_read_only(op->server, &st))
		return -EROFS;
	prepare(op, op->node, name, &st, &victim);
	held = flags & AT_REMOVEDIR
		       ? held_rmdir(op->server, op->node, name, &st)
		       : held_unlink(op->server, op->node, name, &st);
	if (held < 0)
		return held;
	/* The host still has it. */
	if (held == 1 && !(st.stx_mask & SHARE_SHADOW))
		victim.last = false;
	fd = node_fds_folder(&op->server->fds, op->node);
	if (fd < 0)
		return fd;
	/* What fails for its type must not be moved out of the way. */
	if (!held && !!(flags & AT_REMOVEDIR) == !!S_ISDIR(st.stx_mode))
		moved = undo_removing(op->server, op->node, fd, name, &st);
	if (moved < 0)
		return moved;
	if (!held && !moved && unlinkat(fd, name, flags) < 0)
		return -errno;
	undo_done(op->server);
	watch_own(op->server, op->node, name, IN_DELETE);
	bury(op, op->node, name, &victim);
	return 0;
}

int op_unlink(struct op *op)
{
	return remove_name(op, S_IFREG, 0);
}

int op_rmdir(struct op *op)
{
	return remove_name(op, S_IFDIR, AT_REMOVEDIR);
}

struct move {
	struct held_move at;
	struct victim victim;
};

/* One end of an exchange, or the source of a move. */
static int check_leaving(struct op *op, struct node *folder, const char *name,
			 const struct statx *st)
{
	struct policy_change change = { .what = POLICY_REMOVE,
					.node = folder,
					.name = name,
					.type = st->stx_mode & S_IFMT };
	int refused = policy_change(op->server, &change);

	if (refused)
		return refused;
	if (policy_is_read_only(op->server, st))
		return -EROFS;
	if (!S_ISDIR(st->stx_mode))
		return 0;
	return policy_may_move(op->server, folder, name);
}

static int check_arriving(struct op *op, struct node *folder, const char *name)
{
	int hidden;

	if (folder->type != S_IFDIR)
		return -ENOTDIR;
	if (folder->flags & NODE_READ_ONLY)
		return -EROFS;
	hidden = policy_hides_name(op->server, folder, name, 0);
	return hidden > 0 ? -EACCES : hidden;
}

static int check_move(struct op *op, struct move *move)
{
	int failed =
		entry_stat(op, move->at.from, move->at.old_name, &move->at.st);

	if (!failed)
		failed = check_leaving(op, move->at.from, move->at.old_name,
				       &move->at.st);
	if (!failed)
		failed = check_arriving(op, move->at.to, move->at.new_name);
	if (failed)
		return failed;
	failed = entry_stat(op, move->at.to, move->at.new_name, &move->at.st2);
	if (failed == -ENOENT)
		return 0;
	if (failed)
		return failed;
	move->at.replaces = true;
	failed = check_leaving(op, move->at.to, move->at.new_name,
			       &move->at.st2);
	if (!failed && (move->at.flags & RENAME_EXCHANGE))
		failed = check_arriving(op, move->at.from, move->at.old_name);
	if (!failed && !(move->at.flags & RENAME_EXCHANGE))
		prepare(op, move->at.to, move->at.new_name, &move->at.st2,
			&move->victim);
	return failed;
}

static bool same_inode(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && share_dev(a) == share_dev(b);
}

static void note_move(struct op *op, struct move *move)
{
	struct server *server = op->server;

	watch_own(server, move->at.from, move->at.old_name, IN_MOVED_FROM);
	watch_own(server, move->at.to, move->at.new_name, IN_MOVED_TO);
	if (move->at.flags & RENAME_EXCHANGE) {
		watch_own(server, move->at.from, move->at.old_name,
			  IN_MOVED_TO);
		watch_own(server, move->at.to, move->at.new_name,
			  IN_MOVED_FROM);
		entry_moved(op, &move->at.st2, move->at.from,
			    move->at.old_name);
	} else {
		bury(op, move->at.to, move->at.new_name, &move->victim);
	}
	entry_moved(op, &move->at.st, move->at.to, move->at.new_name);
}

static void note_undo(struct op *op, const struct move *move, int from, int to)
{
	const struct undo_move undo = {
		.from = move->at.from,
		.to = move->at.to,
		.from_fd = from,
		.to_fd = to,
		.old_name = move->at.old_name,
		.new_name = move->at.new_name,
		.st = &move->at.st,
		.over = move->at.replaces &&
					!(move->at.st2.stx_mask & SHARE_SHADOW)
				? &move->at.st2
				: NULL,
		.flags = move->at.flags,
	};

	undo_moving(op->server, &undo);
}

static int rename_entry(struct op *op, uint64_t new_folder, unsigned flags)
{
	struct server *server = op->server;
	struct move move = { .at = { .from = op->node,
				     .old_name = op->request->name,
				     .new_name = op->request->name2,
				     .flags = flags } };
	int from, to, failed, held;

	move.at.to =
		node_table_by_id(server->nodes, op->share_index, new_folder);
	if (!move.at.to)
		return -ESTALE;
	if (op->share->read_only)
		return -EROFS;
	failed = check_move(op, &move);
	if (failed)
		return failed;
	/* Two names of one file: a kernel does nothing at all then. */
	if (move.victim.exists && !(flags & RENAME_NOREPLACE) &&
	    same_inode(&move.at.st, &move.at.st2))
		return 0;
	held = held_rename(server, &move.at);
	if (held < 0)
		return held;
	if (held) {
		move.victim.last &= !move.at.host_keeps;
		note_move(op, &move);
		return 0;
	}
	from = node_fds_folder(&server->fds, move.at.from);
	to = node_fds_folder(&server->fds, move.at.to);
	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	note_undo(op, &move, from, to);
	if (renameat2(from, move.at.old_name, to, move.at.new_name, flags) < 0)
		return -errno;
	undo_done(server);
	held_renamed(server, &move.at);
	note_move(op, &move);
	return 0;
}

int op_rename(struct op *op)
{
	return rename_entry(op, op->request->in.rename.newdir, 0);
}

int op_rename2(struct op *op)
{
	unsigned flags = op->request->in.rename2.flags;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	return rename_entry(op, op->request->in.rename2.newdir, flags);
}
