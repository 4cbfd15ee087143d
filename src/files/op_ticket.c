/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_ticket.c - requests of the notifier: answered, never done
 *
 * What it asks for has happened on the host already. With a ticket the answer
 * is what the host has now; without one it is EIO. Nothing here changes
 * anything on the host.
 */
#include "files/ops.h"

#include <errno.h>

#include "files/entry.h"

static int place_of_node(struct op *op, struct ticket_request *request,
			 char name[NODE_NAME_MAX + 1])
{
	struct node *parent = node_parent(op->server->nodes, op->node);

	if (!parent || !node_name(op->server->nodes, op->node, name))
		return -EIO;
	request->folder = node_table_id(op->server->nodes, parent);
	request->name = name;
	return 0;
}

static int give_entry(struct op *op, const struct ticket *ticket)
{
	struct fuse_entry_out out;
	struct statx st;
	int failed = entry_stat(op, op->node, op->request->name, &st);

	if (failed)
		return failed;
	/* Replaced since: its own event follows. */
	if ((st.stx_mode & S_IFMT) != ticket->type)
		return -ENOENT;
	failed = entry_give(op, op->node, op->request->name, &st, &out, NULL);
	if (!failed)
		reply_add(op->reply, &out, sizeof(out));
	return failed;
}

/*
 * The name is a folder again, and one that the guest knows: perhaps it has made
 * it itself. Its kernel would hold that one for removed, and a removed folder
 * takes nothing in.
 */
static bool is_folder_again(struct op *op)
{
	const struct node *node;
	struct statx st;

	if (entry_stat(op, op->node, op->request->name, &st) != 0 ||
	    !S_ISDIR(st.stx_mode))
		return false;
	node = entry_known(op, &st);
	return node && node->lookups;
}

/* The guest's kernel moves what it knows; so do we. */
static int follow_rename(struct op *op, uint64_t new_folder)
{
	struct node_table *nodes = op->server->nodes;
	struct node *folder =
		node_table_by_id(nodes, op->share_index, new_folder);
	struct statx st;
	int failed;

	if (!folder)
		return -ESTALE;
	failed = entry_stat(op, folder, op->request->name2, &st);
	if (failed)
		return failed;
	entry_moved(op, &st, folder, op->request->name2);
	return 0;
}

int op_ticket_change(struct op *op)
{
	struct ticket_request request = {
		.opcode = op->request->opcode,
		.share = (uint8_t)op->share_index,
		.folder = op->request->node,
		.name = op->request->name,
		.name2 = op->request->name2,
	};
	char name[NODE_NAME_MAX + 1];
	const struct ticket *ticket;

	if (request.opcode == FUSE_RENAME)
		request.folder2 = op->request->in.rename.newdir;
	if (request.opcode == FUSE_RENAME2)
		request.folder2 = op->request->in.rename2.newdir;
	if (request.opcode == FUSE_SETATTR &&
	    place_of_node(op, &request, name) < 0)
		return -EIO;
	if (!request.name)
		return -EIO;
	ticket = ticket_use(&op->server->announce.queue, &request);
	if (!ticket)
		return -EIO;
	switch (ticket->kind) {
	case TICKET_CREATE:
		return give_entry(op, ticket);
	case TICKET_REMOVE:
		return is_folder_again(op) ? -EBUSY : 0;
	case TICKET_RENAME:
		return follow_rename(op, request.folder2);
	default:
		return op_getattr(op);
	}
}

/* A node that is only there to be removed; no request may name it. */
static void give_ghost(struct op *op, uint32_t type)
{
	struct server *server = op->server;
	struct fuse_entry_out out = {
		.nodeid = (uint64_t)++server->announce.ghosts << 32,
		.generation = 1,
		.attr = { .mode = type | 0600,
			  .nlink = type == S_IFDIR ? 2 : 1,
			  .uid = server->guest.uid,
			  .gid = server->guest.gid },
	};

	if (!server->announce.ghosts)
		out.nodeid = (uint64_t)++server->announce.ghosts << 32;
	out.attr.ino = out.nodeid;
	reply_add(op->reply, &out, sizeof(out));
}

/* What the name is now, to be believed by nobody else. */
static int give_for_now(struct op *op, struct node *folder, const char *name)
{
	struct fuse_entry_out out;
	struct statx st;
	int failed = entry_stat(op, folder, name, &st);

	if (!failed)
		failed = entry_give(op, folder, name, &st, &out, NULL);
	if (failed)
		return failed;
	out.entry_valid = 0;
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

static int look_up_removed(struct op *op, const struct ticket *ticket)
{
	const char *name = op->request->name;
	struct node *folder = op->node;

	if (ticket->kind == TICKET_RENAME) {
		folder = node_table_by_id(op->server->nodes, op->share_index,
					  ticket->to.folder);
		name = ticket->to.name;
	} else if (ticket->type == S_IFDIR && !is_folder_again(op)) {
		folder = NULL;
	}
	if (!folder || give_for_now(op, folder, name) != 0)
		give_ghost(op, ticket->type);
	return 0;
}

/*
 * The kernel asks for the target of a rename even where it knows it. Only if
 * we can still say what that file is does it learn that the file went, and
 * those who watch it do.
 */
static int look_up_replaced(struct op *op)
{
	struct server *server = op->server;
	const char *name = op->request->name;
	struct fuse_entry_out out;
	struct fuse_attr_out attr;
	struct node *now = NULL, *node;
	struct statx st;

	if (entry_stat(op, op->node, name, &st) == 0)
		now = entry_known(op, &st);
	node = node_fds_replaced(&server->fds, op->node, name, now);
	if (!node || node_fds_stat(&server->fds, node, &st) != 0)
		return -ENOENT;
	node->lookups++;
	entry_attr(op, node, &st, &attr);
	out = (struct fuse_entry_out){
		.nodeid = node_table_id(server->nodes, node),
		.generation = node->generation,
		.attr = attr.attr,
	};
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

int op_ticket_lookup(struct op *op)
{
	const struct ticket *ticket;

	if (op->node->type != S_IFDIR)
		return -ENOTDIR;

	switch (ticket_role(&op->server->announce.queue,
			    (uint8_t)op->share_index, op->request->node,
			    op->request->name, &ticket)) {
	case TICKET_CREATED:
		return -ENOENT;
	case TICKET_TARGET:
		return look_up_replaced(op);
	case TICKET_REMOVED:
	case TICKET_SOURCE:
		return look_up_removed(op, ticket);
	default:
		/* Like op_lookup(), but absence is not to be kept: a later
		 * ticket may need the name. */
		watch_folder(op->server, op->node);
		return entry_reply(op, op->node, op->request->name);
	}
}
