/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_data.c - READ, WRITE, FSYNC, FALLOCATE, LSEEK, COPY_FILE_RANGE
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/uio.h>
#include <unistd.h>

#define COPY_MAX (16U << 20) /* one request must not hold up the others */
/* Whoever reads that much goes on: the disk can work beside the guest. */
#define READ_ON_BYTES (256 << 10)
#define READ_ON_STEP (4 << 20)

/* A step further than the one that it comes to now, once for each. */
static void read_on(int fd, off_t offset, ssize_t n)
{
	off_t step = (offset + n) / READ_ON_STEP;

	if (offset && step == offset / READ_ON_STEP)
		return;
	posix_fadvise(fd, offset ? (step + 1) * READ_ON_STEP : n,
		      offset ? READ_ON_STEP : 2 * READ_ON_STEP - n,
		      POSIX_FADV_WILLNEED);
}

int op_read(struct op *op)
{
	const struct fuse_read_in *in = &op->request->in.read;
	size_t len = in->size, left;
	int fd = node_fds_data(&op->server->fds, op->node, NODE_FD_READ);
	ssize_t n;
	void *room;

	if (fd < 0)
		return fd;
	if (op->node->type == S_IFDIR)
		return -EISDIR;
	if (len > FUSE_WRITE_MAX || in->offset > INT64_MAX)
		return -EINVAL;
	room = reply_room(op->reply, &left);
	n = pread(fd, room, len < left ? len : left, (off_t)in->offset);
	if (n < 0)
		return -errno;
	reply_grow(op->reply, (size_t)n);
	if (n >= READ_ON_BYTES)
		read_on(fd, (off_t)in->offset, n);
	ahead_read(op);
	return 0;
}

/* A descriptor that may be written through, when this node may be changed. */
static int begin_write(struct op *op, struct node *node)
{
	struct policy_change change = { .what = POLICY_CONTENT, .node = node };
	int refused = policy_change(op->server, &change), fd;

	if (refused)
		return refused;
	fd = node_fds_data(&op->server->fds, node, NODE_FD_WRITE);
	if (fd >= 0)
		undo_change(op->server, node, UNDO_DATA);
	return fd;
}

static uint64_t blocks_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_blocks;
}

static void end_write(struct op *op, struct node *node)
{
	watch_own_node(op->server, node, IN_MODIFY);
	server_wrote(op->server);
}

static int write_flags(uint32_t open_flags)
{
	int flags = 0;

	if (open_flags & O_APPEND)
		flags |= RWF_APPEND;
	if ((open_flags & O_SYNC) == O_SYNC)
		flags |= RWF_SYNC;
	else if (open_flags & O_DSYNC)
		flags |= RWF_DSYNC;
	return flags;
}

static int write_all(int fd, const struct fuse_request *request, size_t *done)
{
	int flags = write_flags(request->in.write.flags);

	for (*done = 0; *done < request->data_len;) {
		struct iovec iov = {
			.iov_base = (void *)(uintptr_t)(request->data + *done),
			.iov_len = request->data_len - *done,
		};
		ssize_t n = pwritev2(fd, &iov, 1,
				     (off_t)(request->in.write.offset + *done),
				     flags);

		if (n < 0)
			return *done ? 0 : -errno;
		*done += (size_t)n;
	}
	return 0;
}

int op_write(struct op *op)
{
	const struct fuse_request *request = op->request;
	struct fuse_write_out out = { 0 };
	uint64_t before = 0;
	size_t done;
	int failed, fd = begin_write(op, op->node);

	if (fd < 0)
		return fd;
	if (request->in.write.offset > INT64_MAX - FUSE_WRITE_MAX)
		return -EFBIG;
	failed = policy_may_add(op->server, op->share_index, 0);
	if (failed)
		return failed;
	if (op->share->quota_bytes)
		before = blocks_of(fd);
	failed = write_all(fd, request, &done);
	if (op->share->quota_bytes)
		policy_charge(op->server, op->share_index, before,
			      blocks_of(fd));
	end_write(op, op->node);
	if (failed)
		return failed;
	room_wrote(op->server, op->share_index, done);
	if (done < request->data_len)
		room_failed(op->server, op->share_index);
	out.size = (uint32_t)done;
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

int op_fsync(struct op *op)
{
	bool data_only =
		op->request->in.fsync.fsync_flags & FUSE_FSYNC_FDATASYNC;
	int fd = -1;

	/* Any descriptor will do, and a new one may be refused. */
	if (op->node->fd >= 0 && op->node->fd_rights)
		fd = op->node->fd;
	else
		fd = node_fds_data(&op->server->fds, op->node, NODE_FD_READ);
	if (fd == -EACCES)
		fd = node_fds_data(&op->server->fds, op->node, NODE_FD_WRITE);
	if (fd < 0)
		return fd;
	return worker_sync(op, fd, data_only ? WORKER_FDATASYNC : WORKER_FSYNC);
}

int op_fallocate(struct op *op)
{
	const struct fuse_fallocate_in *in = &op->request->in.fallocate;
	uint32_t known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE |
			 FALLOC_FL_ZERO_RANGE;
	int fd = begin_write(op, op->node), failed = 0;
	uint64_t before;

	if (fd < 0)
		return fd;
	if (in->mode & ~known)
		return -EOPNOTSUPP;
	if (in->offset > INT64_MAX || in->length > INT64_MAX)
		return -EFBIG;
	if (!(in->mode & FALLOC_FL_PUNCH_HOLE))
		failed =
			policy_may_add(op->server, op->share_index, in->length);
	if (failed)
		return failed;
	before = blocks_of(fd);
	if (fallocate(fd, (int)in->mode, (off_t)in->offset, (off_t)in->length) <
	    0)
		failed = -errno;
	policy_charge(op->server, op->share_index, before, blocks_of(fd));
	end_write(op, op->node);
	return failed;
}

int op_lseek(struct op *op)
{
	const struct fuse_lseek_in *in = &op->request->in.lseek;
	struct fuse_lseek_out out;
	off_t found;
	int fd;

	/* The others are the guest's kernel's own affair. */
	if (in->whence != SEEK_DATA && in->whence != SEEK_HOLE)
		return -EINVAL;
	if (op->node->type != S_IFREG || in->offset > INT64_MAX)
		return -EINVAL;
	fd = node_fds_data(&op->server->fds, op->node, NODE_FD_READ);
	if (fd < 0)
		return fd;
	found = lseek(fd, (off_t)in->offset, (int)in->whence);
	if (found < 0)
		return -errno;
	out.offset = (uint64_t)found;
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

static int copy(struct op *op, int from, int to, uint32_t *done)
{
	const struct fuse_copy_file_range_in *in = &op->request->in.copy;
	uint64_t len = in->len < COPY_MAX ? in->len : COPY_MAX;
	off_t from_at = (off_t)in->off_in, to_at = (off_t)in->off_out;
	ssize_t n;

	if (in->off_in > INT64_MAX || in->off_out > INT64_MAX)
		return -EINVAL;
	n = copy_file_range(from, &from_at, to, &to_at, len, 0);
	if (n < 0)
		return -errno;
	*done = (uint32_t)n;
	return 0;
}

int op_copy(struct op *op)
{
	struct server *server = op->server;
	struct node *target = node_table_by_id(server->nodes, op->share_index,
					       op->request->in.copy.nodeid_out);
	struct fuse_write_out out = { 0 };
	uint64_t before;
	int from, to, failed;

	if (!target)
		return -ESTALE;
	if (op->request->in.copy.flags || op->node->type != S_IFREG)
		return -EINVAL;
	to = begin_write(op, target);
	if (to < 0)
		return to;
	/* With one file for both this may replace that descriptor. */
	from = node_fds_data(&server->fds, op->node,
			     target == op->node ? NODE_FD_READ | NODE_FD_WRITE
						: NODE_FD_READ);
	if (from < 0)
		return from;
	if (target == op->node)
		to = from;
	failed = policy_may_add(server, op->share_index, 0);
	if (failed)
		return failed;
	before = blocks_of(to);
	failed = copy(op, from, to, &out.size);
	policy_charge(server, op->share_index, before, blocks_of(to));
	end_write(op, target);
	if (!failed)
		reply_add(op->reply, &out, sizeof(out));
	return failed;
}
