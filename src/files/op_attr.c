/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_attr.c - GETATTR, SETATTR
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "files/entry.h"

static int reply_attr(struct op *op)
{
	struct fuse_attr_out out;
	struct statx st;
	int failed = node_fds_stat(&op->server->fds, op->node, &st);

	if (failed)
		return failed;
	entry_attr(op, op->node, &st, &out);
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

int op_getattr(struct op *op)
{
	return reply_attr(op);
}

/*
 * The host's owner is the guest's user, and what the guest's root makes is the
 * host owner's as well: giving a file to either changes nothing.
 */
static bool is_no_change(uint32_t wanted, uint32_t agent)
{
	return wanted == agent || wanted == 0;
}

static int set_owner(struct op *op)
{
	const struct fuse_setattr_in *in = &op->request->in.setattr;

	if ((in->valid & FATTR_UID) &&
	    !is_no_change(in->uid, op->server->guest.uid))
		return -EPERM;
	if ((in->valid & FATTR_GID) &&
	    !is_no_change(in->gid, op->server->guest.gid))
		return -EPERM;
	return 0;
}

static int set_mode(struct op *op)
{
	int fd = node_fds_path(&op->server->fds, op->node);
	char number[16];
	struct stat st;
	mode_t mode;

	if (fd < 0)
		return fd;
	if (op->node->type == S_IFLNK)
		return -EOPNOTSUPP;
	if (fstat(fd, &st) < 0)
		return -errno;
	mode = share_new_mode(op->request->in.setattr.mode, op->node->type,
			      st.st_mode);
	undo_change(op->server, op->node, UNDO_META);
	text_format(number, sizeof(number), "%d", fd);
	return chmod(number, mode) < 0 ? -errno : 0;
}

static int set_size(struct op *op)
{
	uint64_t size = op->request->in.setattr.size;
	struct stat before, after;
	int fd;

	if (size > INT64_MAX)
		return -EFBIG;
	fd = node_fds_data(&op->server->fds, op->node, NODE_FD_WRITE);
	if (fd < 0)
		return fd;
	undo_change(op->server, op->node, UNDO_DATA);
	if (fstat(fd, &before) < 0 || ftruncate(fd, (off_t)size) < 0 ||
	    fstat(fd, &after) < 0)
		return -errno;
	policy_charge(op->server, op->share_index, (uint64_t)before.st_blocks,
		      (uint64_t)after.st_blocks);
	server_wrote(op->server);
	return 0;
}

static struct timespec wanted_time(const struct fuse_setattr_in *in,
				   uint32_t set, uint32_t now, uint64_t sec,
				   uint32_t nsec)
{
	if (in->valid & now)
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	if (in->valid & set)
		return (struct timespec){ .tv_sec = (time_t)sec,
					  .tv_nsec = nsec };
	return (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static int set_times(struct op *op)
{
	const struct fuse_setattr_in *in = &op->request->in.setattr;
	struct timespec times[2];
	int fd = node_fds_path(&op->server->fds, op->node);

	if (fd < 0)
		return fd;
	/* The magic values of utimensat() are no nanoseconds. */
	if (in->atimensec >= 1000000000 || in->mtimensec >= 1000000000)
		return -EINVAL;
	times[0] = wanted_time(in, FATTR_ATIME, FATTR_ATIME_NOW, in->atime,
			       in->atimensec);
	times[1] = wanted_time(in, FATTR_MTIME, FATTR_MTIME_NOW, in->mtime,
			       in->mtimensec);
	undo_change(op->server, op->node, UNDO_META);
	if (utimensat(fd, "", times, AT_EMPTY_PATH) < 0)
		return -errno;
	/* While it is open for writing that comes when it is closed. */
	if (!(op->node->fd_rights & NODE_FD_WRITE))
		undo_settle(op->server, op->node);
	return 0;
}

static const struct {
	uint32_t bits;
	int (*set)(struct op *op);
} setters[] = {
	{ FATTR_UID | FATTR_GID, set_owner },
	{ FATTR_MODE, set_mode },
	{ FATTR_SIZE, set_size },
	{ FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW,
	  set_times },
};

int op_setattr(struct op *op)
{
	struct policy_change change = { .what = POLICY_CONTENT,
					.node = op->node };
	int failed = policy_change(op->server, &change);

	for (size_t i = 0; i < ARRAY_SIZE(setters) && !failed; i++) {
		if (op->request->in.setattr.valid & setters[i].bits)
			failed = setters[i].set(op);
	}
	watch_own_node(op->server, op->node, IN_ATTRIB | IN_MODIFY);
	return failed ? failed : reply_attr(op);
}
