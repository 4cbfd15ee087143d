/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_lookup.c - LOOKUP, READLINK
 */
#include "files/ops.h"

#include <errno.h>
#include <unistd.h>

#include "files/entry.h"

int op_lookup(struct op *op)
{
	struct fuse_entry_out nothing = { .entry_valid = ENTRY_WATCHED_S };
	int failed;

	if (op->node->type != S_IFDIR)
		return -ENOTDIR;
	watch_folder(op->server, op->node);
	failed = entry_reply(op, op->node, op->request->name);
	if (!failed)
		walk_found(op);
	if (failed != -ENOENT || op->node->watch < 0)
		return failed;
	ahead_absent(op);
	/* Absence may be believed as long as presence. */
	reply_add(op->reply, &nothing, sizeof(nothing));
	return 0;
}

int op_readlink(struct op *op)
{
	int fd = node_fds_path(&op->server->fds, op->node);
	ssize_t len;
	size_t left;
	char *room;

	if (fd < 0)
		return fd;
	if (op->node->type != S_IFLNK)
		return -EINVAL;
	room = reply_room(op->reply, &left);
	len = readlinkat(fd, "", room,
			 left < FUSE_TARGET_MAX ? left : FUSE_TARGET_MAX);
	if (len < 0)
		return -errno;
	reply_grow(op->reply, (size_t)len);
	return 0;
}
