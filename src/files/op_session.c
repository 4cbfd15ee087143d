/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_session.c - INIT, DESTROY, STATFS, SYNCFS, FORGET
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"

#define MINOR_MIN 31 /* what our structures need: max_pages, no-open */
#define READAHEAD_BYTES (1U << 20)
#define BACKGROUND_MAX 64

/*
 * Not here, with the reason:
 *  WRITEBACK_CACHE     the kernel would ignore our size and times and write
 *                      stale pages over a host's edit
 *  POSIX_LOCKS, FLOCK  locks stay in the guest's kernel
 *  ATOMIC_O_TRUNC      there is no OPEN that could carry it
 *  DONT_MASK           the guest's kernel applies the umask
 *  POSIX_ACL, SECURITY_CTX  only user.* attributes pass
 *  READDIRPLUS_AUTO    one answer with attributes costs us little and saves
 *                      the guest a round trip for each entry
 */
static const uint64_t wanted_features =
	FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA |
	FUSE_DO_READDIRPLUS | FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT |
	FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | FUSE_CACHE_SYMLINKS |
	/* saves a GETXATTR of security.capability before each write */
	FUSE_HANDLE_KILLPRIV_V2;

int op_init(struct op *op)
{
	const struct fuse_init_in *in = &op->request->in.init;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = READAHEAD_BYTES,
		.max_background = BACKGROUND_MAX,
		.congestion_threshold = BACKGROUND_MAX * 3 / 4,
		.max_write = FUSE_WRITE_MAX,
		.time_gran = 1,
		.max_pages = FUSE_PAGES_MAX,
	};

	if (in->major < FUSE_KERNEL_VERSION ||
	    (in->major == FUSE_KERNEL_VERSION && in->minor < MINOR_MIN))
		return -EPROTO;
	/* A newer kernel asks again with our version. */
	if (in->major == FUSE_KERNEL_VERSION) {
		out.flags = (uint32_t)(in->flags & wanted_features);
		node_table_clear(op->server->nodes, op->share_index);
		op->share->initialised = true;
		control_say(&op->server->control, "initialised %u",
			    op->share_index);
		/* No request need come before somebody watches it. */
		watch_folder(op->server,
			     node_table_by_id(op->server->nodes,
					      op->share_index, FUSE_ROOT_ID));
	}
	if (in->max_readahead < out.max_readahead)
		out.max_readahead = in->max_readahead;
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

int op_destroy(struct op *op)
{
	node_table_clear(op->server->nodes, op->share_index);
	op->share->initialised = false;
	return 0;
}

int op_forget(struct op *op)
{
	struct node *node = node_table_by_id(op->server->nodes, op->share_index,
					     op->request->node);

	if (node && !node_is_root(op->server->nodes, node))
		node_table_forget(op->server->nodes, node,
				  op->request->in.forget.nlookup);
	return 0;
}

int op_batch_forget(struct op *op)
{
	const struct fuse_request *request = op->request;
	struct node_table *nodes = op->server->nodes;
	struct fuse_forget_one one;

	for (size_t at = 0; at < request->data_len; at += sizeof(one)) {
		struct node *node;

		memcpy(&one, request->data + at, sizeof(one));
		node = node_table_by_id(nodes, op->share_index, one.nodeid);
		if (node && !node_is_root(nodes, node))
			node_table_forget(nodes, node, one.nlookup);
	}
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void limit_to_quota(struct op *op, struct fuse_kstatfs *st)
{
	const struct node_usage *usage =
		node_table_usage(op->server->nodes, op->share_index);
	uint64_t bytes = op->share->quota_bytes;
	uint64_t inodes = op->share->quota_inodes;

	if (bytes && st->frsize) {
		uint64_t left = bytes - least(bytes, usage->bytes);

		st->bfree = least(st->bfree, left / st->frsize);
		st->bavail = least(st->bavail, left / st->frsize);
	}
	if (inodes)
		st->ffree =
			least(st->ffree, inodes - least(inodes, usage->inodes));
}

int op_statfs(struct op *op)
{
	struct fuse_statfs_out out = { 0 };
	struct statfs st;

	if (fstatfs(op->share->root_fd, &st) < 0)
		return -errno;
	out.st = (struct fuse_kstatfs){
		.blocks = st.f_blocks,
		.bfree = st.f_bfree,
		.bavail = st.f_bavail,
		.files = st.f_files,
		.ffree = st.f_ffree,
		.bsize = (uint32_t)st.f_bsize,
		.namelen = FUSE_COMPONENT_MAX,
		.frsize = (uint32_t)(st.f_frsize ? st.f_frsize : st.f_bsize),
	};
	limit_to_quota(op, &out.st);
	reply_add(op->reply, &out, sizeof(out));
	return 0;
}

int op_syncfs(struct op *op)
{
	int fd = node_fds_data(&op->server->fds, op->node, NODE_FD_READ);

	if (fd < 0)
		return fd;
	return worker_sync(op, fd, WORKER_SYNCFS);
}
