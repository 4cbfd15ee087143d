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
	node_table_place(op->server->nodes, victim->node, folder, name);
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
	int fd, moved, failed = policy_change(op->server, &change);

	if (!failed)
		failed = entry_stat(op, op->node, name, &st);
	if (failed)
		return failed;
	/* Where a read-only share begins is not for this one to remove. */
	if (policy_is_read_only(op->server, &st))
		return -EROFS;
	prepare(op, op->node, name, &st, &victim);
	fd = node_fds_folder(&op->server->fds, op->node);
	if (fd < 0)
		return fd;
	/* What fails for its type must not be moved out of the way. */
	moved = !!(flags & AT_REMOVEDIR) == !!S_ISDIR(st.stx_mode)
			? undo_removing(op->server, op->node, fd, name, &st)
			: 0;
	if (moved < 0)
		return moved;
	if (!moved && unlinkat(fd, name, flags) < 0)
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
	struct node *from, *to;
	const char *old_name, *new_name;
	unsigned flags;
	struct victim victim;
	struct statx st;  /* of what moves */
	struct statx st2; /* of what is at the new name */
	bool over;        /* there is something */
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
	hidden = policy_hides(op->server, folder, name, 0);
	return hidden > 0 ? -EACCES : hidden;
}

static int check_move(struct op *op, struct move *move)
{
	int failed = entry_stat(op, move->from, move->old_name, &move->st);

	if (!failed)
		failed = check_leaving(op, move->from, move->old_name,
				       &move->st);
	if (!failed)
		failed = check_arriving(op, move->to, move->new_name);
	if (failed)
		return failed;
	failed = entry_stat(op, move->to, move->new_name, &move->st2);
	if (failed == -ENOENT)
		return 0;
	if (failed)
		return failed;
	move->over = true;
	failed = check_leaving(op, move->to, move->new_name, &move->st2);
	if (!failed && (move->flags & RENAME_EXCHANGE))
		failed = check_arriving(op, move->from, move->old_name);
	if (!failed && !(move->flags & RENAME_EXCHANGE))
		prepare(op, move->to, move->new_name, &move->st2,
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
	struct node *node = entry_known(op, &move->st);

	watch_own(server, move->from, move->old_name, IN_MOVED_FROM);
	watch_own(server, move->to, move->new_name, IN_MOVED_TO);
	if (move->flags & RENAME_EXCHANGE) {
		struct node *other = entry_known(op, &move->st2);

		watch_own(server, move->from, move->old_name, IN_MOVED_TO);
		watch_own(server, move->to, move->new_name, IN_MOVED_FROM);
		if (other)
			node_table_place(server->nodes, other, move->from,
					 move->old_name);
	} else {
		bury(op, move->to, move->new_name, &move->victim);
	}
	if (node)
		node_table_place(server->nodes, node, move->to, move->new_name);
}

static void note_undo(struct op *op, const struct move *move, int from, int to)
{
	const struct undo_move undo = {
		.from = move->from,
		.to = move->to,
		.from_fd = from,
		.to_fd = to,
		.old_name = move->old_name,
		.new_name = move->new_name,
		.st = &move->st,
		.over = move->over ? &move->st2 : NULL,
		.flags = move->flags,
	};

	undo_moving(op->server, &undo);
}

static int rename_entry(struct op *op, uint64_t new_folder, unsigned flags)
{
	struct server *server = op->server;
	struct move move = { .from = op->node,
			     .old_name = op->request->name,
			     .new_name = op->request->name2,
			     .flags = flags };
	int from, to, failed;

	move.to = node_table_by_id(server->nodes, op->share_index, new_folder);
	if (!move.to)
		return -ESTALE;
	if (op->share->read_only)
		return -EROFS;
	failed = check_move(op, &move);
	if (failed)
		return failed;
	from = node_fds_folder(&server->fds, move.from);
	to = node_fds_folder(&server->fds, move.to);
	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	note_undo(op, &move, from, to);
	if (renameat2(from, move.old_name, to, move.new_name, flags) < 0)
		return -errno;
	undo_done(server);
	/* Two names of one file: the kernel then does nothing at all. */
	if (move.victim.exists && same_inode(&move.st, &move.st2))
		return 0;
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
