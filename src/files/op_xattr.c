/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_xattr.c - SETXATTR, GETXATTR, LISTXATTR, REMOVEXATTR
 *
 * Only user.* passes: security.* and trusted.* would give a file rights on the
 * host, system.* would give it other owners.
 */
#include "files/ops.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/xattr.h>

#include "base/text.h"

/* The node as a name in the working folder, /proc/self/fd. */
static int begin(struct op *op, char number[16])
{
	int fd;

	if (op->node->type != S_IFREG && op->node->type != S_IFDIR)
		return -EOPNOTSUPP;
	fd = node_fds_path(&op->server->fds, op->node);
	if (fd < 0)
		return fd;
	text_format(number, 16, "%d", fd);
	return 0;
}

static bool is_users(const char *name)
{
	return text_starts(name, "user.") && name[5];
}

static int begin_change(struct op *op, char number[16])
{
	struct policy_change change = { .what = POLICY_CONTENT,
					.node = op->node };
	int refused = policy_change(op->server, &change);

	if (refused)
		return refused;
	if (!is_users(op->request->name))
		return -EOPNOTSUPP;
	return begin(op, number);
}

/* What a value takes, in the blocks that a quota counts. */
static uint64_t blocks(size_t len)
{
	return (len + 511) / 512;
}

static uint64_t blocks_now(const struct op *op, const char *number)
{
	ssize_t len = getxattr(number, op->request->name, NULL, 0);

	return len < 0 ? 0 : blocks((size_t)len);
}

int op_setxattr(struct op *op)
{
	const struct fuse_request *request = op->request;
	char number[16];
	int failed = begin_change(op, number);
	uint64_t before;

	if (!failed)
		failed = policy_may_add(op->server, op->share_index,
					request->data_len);
	if (failed)
		return failed;
	undo_change(op->server, op->node, UNDO_META);
	before = blocks_now(op, number);
	if (setxattr(number, request->name, request->data, request->data_len,
		     (int)request->in.setxattr.flags) < 0)
		return -errno;
	policy_charge(op->server, op->share_index, before,
		      blocks(request->data_len));
	watch_own_node(op->server, op->node, IN_ATTRIB);
	return 0;
}

int op_removexattr(struct op *op)
{
	char number[16];
	int failed = begin_change(op, number);
	uint64_t before;

	if (failed)
		return failed;
	undo_change(op->server, op->node, UNDO_META);
	before = blocks_now(op, number);
	if (removexattr(number, op->request->name) < 0)
		return -errno;
	policy_charge(op->server, op->share_index, before, 0);
	watch_own_node(op->server, op->node, IN_ATTRIB);
	return 0;
}

/* A size of 0 asks how much room is needed. */
static int reply_value(struct op *op, ssize_t len)
{
	struct fuse_getxattr_out out = { .size = (uint32_t)len };
	uint32_t claimed_room = op->request->in.getxattr.size;

	if (claimed_room == 0) {
		reply_add(op->reply, &out, sizeof(out));
		return 0;
	}
	if ((size_t)len > claimed_room)
		return -ERANGE;
	reply_grow(op->reply, (size_t)len);
	return 0;
}

int op_getxattr(struct op *op)
{
	char number[16];
	int failed = begin(op, number);
	ssize_t len;
	size_t left;
	void *room;

	if (!is_users(op->request->name))
		return -EOPNOTSUPP;
	if (failed)
		return failed;
	room = reply_room(op->reply, &left);
	len = getxattr(number, op->request->name, room,
		       left < FUSE_XATTR_VALUE_MAX ? left
						   : FUSE_XATTR_VALUE_MAX);
	return len < 0 ? -errno : reply_value(op, len);
}

/* Keeps the names of user.*, in place; returns their length. */
static ssize_t keep_users(char *names, ssize_t len)
{
	ssize_t kept = 0;

	for (ssize_t at = 0; at < len;) {
		size_t size = strlen(names + at) + 1;

		if (is_users(names + at)) {
			memmove(names + kept, names + at, size);
			kept += (ssize_t)size;
		}
		at += (ssize_t)size;
	}
	return kept;
}

int op_listxattr(struct op *op)
{
	char number[16];
	int failed = begin(op, number);
	ssize_t len;
	size_t left;
	char *room;

	if (failed == -EOPNOTSUPP)
		return reply_value(op, 0);
	if (failed)
		return failed;
	room = reply_room(op->reply, &left);
	len = listxattr(number, room,
			left < FUSE_XATTR_VALUE_MAX ? left
						    : FUSE_XATTR_VALUE_MAX);
	return len < 0 ? -errno : reply_value(op, keep_users(room, len));
}
