/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - what a guest may see and change in a share
 *
 * The quota counts what the guest adds, in blocks that the file system says it
 * gave: a sparse file costs what it holds. Space comes back when a file is
 * really gone, not when its name is. The counters lie with the nodes and
 * outlive this process.
 */
#include "files/policy.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "files/held.h"
#include "files/server.h"

static int hides_type(struct server *server, const char *path, mode_t type,
		      const struct hide_list *list)
{
	if (type != S_IFDIR && hide_list_matches(list, path, HIDE_FILE))
		return 1;
	return (type == S_IFDIR || type == 0) &&
	       hide_list_matches(list, path, HIDE_FOLDER);
}

int policy_hides(struct server *server, struct node *folder, const char *name,
		 mode_t type)
{
	const struct hide_list *list = &server->shares[folder->key.share].hide;

	if (!list->count)
		return 0;
	/* Without a path nobody can say; the guest has to look it up again. */
	if (node_path(server->nodes, folder, name, server->path,
		      sizeof(server->path)) < 0)
		return -ESTALE;
	return hides_type(server, server->path, type, list);
}

int policy_hides_name(struct server *server, struct node *folder,
		      const char *name, mode_t type)
{
	int hidden = policy_hides(server, folder, name, type), fd;
	struct statx st;

	if (hidden || !server->unseen.count)
		return hidden;
	fd = node_fds_folder(&server->fds, folder);
	if (fd < 0)
		return fd;
	return statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     SHARE_STATX, &st) == 0 &&
	       unseen_has(&server->unseen, &st);
}

int policy_may_move(struct server *server, struct node *folder,
		    const char *name)
{
	const struct hide_list *list = &server->shares[folder->key.share].hide;

	if (!list->count)
		return 0;
	if (node_path(server->nodes, folder, name, server->path,
		      sizeof(server->path)) < 0)
		return -ESTALE;
	return hide_list_holds(list, server->path) ? -EPERM : 0;
}

static bool same_inode(const struct node_key *key, const struct statx *st)
{
	return key->ino == st->stx_ino && key->dev == share_dev(st);
}

bool policy_is_absent(const struct server *server, const struct statx *st)
{
	for (size_t i = 0; i < server->absent_count; i++) {
		if (same_inode(&server->absent[i], st))
			return true;
	}
	return unseen_has(&server->unseen, st);
}

bool policy_is_read_only(const struct server *server, const struct statx *st)
{
	for (unsigned i = 0; i < server->share_count; i++) {
		struct node *root = node_at(server->nodes, i + 1);

		if (server->shares[i].read_only && !server->shares[i].gone &&
		    same_inode(&root->key, st))
			return true;
	}
	return false;
}

static int check_name(struct server *server, const struct policy_change *change)
{
	int hidden = policy_hides_name(server, change->node, change->name,
				       change->type);

	if (hidden < 0)
		return hidden;
	if (hidden)
		return change->what == POLICY_CREATE ? -EACCES : -ENOENT;
	return 0;
}

/* As long as it has: a name that was taken away frees it. */
bool policy_is_frozen(const struct server *server, const struct node *node,
		      const struct statx *st)
{
	for (size_t i = 0; i < server->frozen_count; i++) {
		if (!node->key.shadow && st->stx_nlink > 1 &&
		    node->key.ino == server->frozen[i].ino &&
		    node->key.dev == server->frozen[i].dev)
			return true;
	}
	return false;
}

static int check_frozen(struct server *server, struct node *node)
{
	struct statx st;

	if (!server->frozen_count ||
	    node_fds_stat(&server->fds, node, &st) < 0 ||
	    !policy_is_frozen(server, node, &st))
		return 0;
	log_limited(LOG_LEVEL_WARN,
		    "a file that is also a guarded one is not changed");
	return -EPERM;
}

int policy_change(struct server *server, const struct policy_change *change)
{
	unsigned share = change->node->key.share;
	uint64_t inodes = server->shares[share].quota_inodes;
	int refused;

	if (server->shares[share].read_only ||
	    (change->node->flags & NODE_READ_ONLY))
		return -EROFS;
	if (change->what == POLICY_CONTENT) {
		refused = held_before_content(server, change->node);
		return refused ? refused : check_frozen(server, change->node);
	}
	refused = check_name(server, change);
	if (refused || change->what == POLICY_REMOVE)
		return refused;
	if (inodes && node_table_usage(server->nodes, share)->inodes >= inodes)
		return -EDQUOT;
	/* A name costs something too, if only in its folder. */
	return policy_may_add(server, share, 0);
}

int policy_may_add(struct server *server, unsigned share, uint64_t bytes)
{
	uint64_t limit = server->shares[share].quota_bytes;
	uint64_t used = node_table_usage(server->nodes, share)->bytes;

	if (!limit)
		return 0;
	return used >= limit || bytes > limit - used ? -EDQUOT : 0;
}

void policy_charge(struct server *server, unsigned share, uint64_t before,
		   uint64_t after)
{
	struct node_usage *usage = node_table_usage(server->nodes, share);

	if (after >= before)
		usage->bytes += (after - before) * 512;
	else if (usage->bytes > (before - after) * 512)
		usage->bytes -= (before - after) * 512;
	else
		usage->bytes = 0;
}

void policy_created(struct server *server, unsigned share)
{
	node_table_usage(server->nodes, share)->inodes++;
	room_wrote(server, share, ROOM_INODE_BYTES);
}

void policy_removed(struct server *server, unsigned share, uint64_t blocks)
{
	struct node_usage *usage = node_table_usage(server->nodes, share);

	if (usage->inodes)
		usage->inodes--;
	policy_charge(server, share, blocks, 0);
}

void policy_node_gone(struct server *server, const struct node *node)
{
	struct stat st;
	/* Kept for undo it still has a name, though none in a share. */
	nlink_t left = server->undo.journal >= 0 ? 1 : 0;

	if ((node->flags & NODE_ORPHAN) && node->fd >= 0 &&
	    fstat(node->fd, &st) == 0 && st.st_nlink <= left)
		policy_removed(server, node->key.share, (uint64_t)st.st_blocks);
}
