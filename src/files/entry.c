/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - a name in a folder becomes a node and what the guest is told of it
 */
#include "files/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "files/held.h"
#include "files/ops.h"

int entry_stat(struct op *op, struct node *folder, const char *name,
	       struct statx *st)
{
	int fd = node_fds_folder(&op->server->fds, folder), hidden, own;

	if (fd < 0)
		return fd;
	own = held_stat(op->server, folder, name, st);
	if (own < 0)
		return own;
	if (!own && statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
			  SHARE_STATX, st) < 0)
		return -errno;
	if (policy_is_absent(op->server, st))
		return -ENOENT;
	hidden = policy_hides(op->server, folder, name, st->stx_mode & S_IFMT);
	return hidden > 0 ? -ENOENT : hidden;
}

int entry_before(struct op *op, struct statx *st)
{
	struct entry_seen *seen = &op->server->seen;
	uint32_t request = op->server->fds.request;

	if (seen->request != request) {
		seen->result =
			entry_stat(op, op->node, op->request->name, &seen->st);
		seen->request = request;
	}
	*st = seen->st;
	return seen->result;
}

/*
 * A watched parent tells of a file's changes under this name; of those under
 * another name nobody does. A folder's own times change with its entries.
 */
static uint64_t attr_seconds(struct op *op, const struct node *node,
			     const struct statx *st)
{
	const struct node *parent = node_parent(op->server->nodes, node);
	bool told = parent && parent->watch >= 0;

	/* `bawn review` may take it away. */
	if (node->key.shadow)
		return ENTRY_UNWATCHED_S;
	if (node->type == S_IFDIR)
		told = node->watch >= 0 &&
		       (told || node_is_root(op->server->nodes, node));
	else if (st->stx_nlink > 1)
		told = false;
	return told ? ENTRY_WATCHED_S : ENTRY_UNWATCHED_S;
}

void entry_attr(struct op *op, struct node *node, const struct statx *st,
		struct fuse_attr_out *out)
{
	*out = (struct fuse_attr_out){ .attr_valid =
					       attr_seconds(op, node, st) };
	share_attr(op->share, &op->server->guest, st, &out->attr);
	/* So that the guest's kernel refuses to open it for writing. */
	if (policy_is_frozen(op->server, node, st))
		out->attr.mode &= ~0222U;
	/* A name that it may have where undo keeps it is no name inside. */
	if (node->flags & NODE_ORPHAN)
		out->attr.nlink = 0;
}

struct node *entry_known(struct op *op, const struct statx *st)
{
	struct node_key key = share_key(op->share_index, st);

	return node_table_find(op->server->nodes, &key);
}

/* Another name than this one leads to it, the one that is remembered. */
static bool lies_elsewhere(struct op *op, struct node *node,
			   const struct node *folder, const char *name)
{
	struct node *parent = node_parent(op->server->nodes, node);
	char own[NODE_NAME_MAX + 1];
	struct statx st;
	int fd;

	if (!parent || node->key.shadow ||
	    !node_name(op->server->nodes, node, own) ||
	    (parent == folder && strcmp(own, name) == 0))
		return false;
	fd = node_fds_folder(&op->server->fds, parent);
	return fd >= 0 &&
	       statx(fd, own, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     SHARE_STATX, &st) == 0 &&
	       share_same_file(&node->key, &st);
}

int entry_place(struct op *op, struct node *node, const struct statx *st,
		struct node *folder, const char *name)
{
	if (S_ISREG(st->stx_mode) && st->stx_nlink > 1 &&
	    !(node->flags & NODE_ORPHAN) &&
	    held_is(op->server, folder, name, st) == 0 &&
	    lies_elsewhere(op, node, folder, name))
		return 0;
	return node_table_place(op->server->nodes, node, folder, name);
}

void entry_moved(struct op *op, const struct statx *st, struct node *folder,
		 const char *name)
{
	struct node *node = entry_known(op, st);

	if (!node)
		return;
	entry_place(op, node, st, folder, name);
	node_table_forget(op->server->nodes, node, 0);
}

/* What the guest's kernel has called it already (spare.h); 0: nothing. */
static uint64_t promised_of(const struct op *op)
{
	return op->request ? op->request->promised : 0;
}

static struct node *find_or_add(struct op *op, struct node *folder,
				const char *name, const struct statx *st)
{
	struct node_table *nodes = op->server->nodes;
	struct node_key key = share_key(op->share_index, st);
	uint64_t promised = promised_of(op);
	struct node *node;

	lower_follow_untold(op->server, folder, name, st);
	node = node_table_find(nodes, &key);
	if (promised && node && node_table_id(nodes, node) != promised)
		return NULL;
	if (!node && promised)
		node = node_table_claim(nodes, promised, &key,
					st->stx_mode & S_IFMT);
	else if (!node)
		node = node_table_add(nodes, &key, st->stx_mode & S_IFMT);
	if (!node)
		return NULL;
	/* Two places at once: it is the root again, through a mount. */
	if (entry_place(op, node, st, folder, name) < 0) {
		node_table_forget(nodes, node, 0);
		return NULL;
	}
	lower_remember(op->server, node);
	node->flags &= (uint8_t) ~(NODE_READ_ONLY | NODE_HELD);
	if (held_is(op->server, folder, name, st) != 0)
		node->flags |= NODE_HELD;
	if ((folder->flags & NODE_READ_ONLY) ||
	    policy_is_read_only(op->server, st))
		node->flags |= NODE_READ_ONLY;
	return node;
}

int entry_give(struct op *op, struct node *folder, const char *name,
	       struct statx *st, struct fuse_entry_out *out,
	       struct node **given)
{
	struct node *node = find_or_add(op, folder, name, st);
	struct fuse_attr_out attr;

	if (!node)
		return -ENFILE;
	/* One that was promised was given before; we may hear of it twice. */
	node->lookups = promised_of(op) ? 1 : node->lookups + 1;
	/* Seen before the watch was there: look again. */
	if (node->type == S_IFDIR && watch_folder(op->server, node) > 0)
		node_fds_stat(&op->server->fds, node, st);
	entry_attr(op, node, st, &attr);
	*out = (struct fuse_entry_out){
		.nodeid = node_table_id(op->server->nodes, node),
		.generation = node->generation,
		.entry_valid = folder->watch >= 0 && !node->key.shadow &&
					       !watch_leads_to_share(
						       op->server, folder, name)
				       ? ENTRY_WATCHED_S
				       : ENTRY_UNWATCHED_S,
		.attr_valid = attr.attr_valid,
		.attr = attr.attr,
	};
	if (given)
		*given = node;
	return 0;
}

int entry_reply(struct op *op, struct node *folder, const char *name)
{
	struct fuse_entry_out out;
	struct statx st;
	int failed = entry_stat(op, folder, name, &st);

	if (!failed)
		failed = entry_give(op, folder, name, &st, &out, NULL);
	if (failed)
		return failed;
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}
