/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.c - table: opcode, handler; the way of a request
 *
 * Sizes and names are checked by fuse_decode() before any handler runs.
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/own.h"
#include "files/held.h"
#include "files/once.h"

enum op_flag {
	OP_NO_NODE = 1 << 0,  /* the header's node means nothing */
	OP_NO_REPLY = 1 << 1, /* the guest's kernel expects none */
	OP_EARLY = 1 << 2,    /* also before INIT */
	OP_CHANGES = 1 << 3,  /* something on the host */
	OP_NAMES = 1 << 4,    /* names in the header's folder */
	OP_ONCE = 1 << 5,     /* a second time it fails, or does more */
};

struct row {
	op_fn *serve;
	unsigned flags;
};

static const struct row rows[] = {
	[FUSE_LOOKUP] = { op_lookup, 0 },
	[FUSE_FORGET] = { op_forget, OP_NO_NODE | OP_NO_REPLY },
	[FUSE_GETATTR] = { op_getattr, 0 },
	[FUSE_SETATTR] = { op_setattr, OP_CHANGES },
	[FUSE_READLINK] = { op_readlink, 0 },
	[FUSE_SYMLINK] = { op_symlink, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_MKNOD] = { op_mknod, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_MKDIR] = { op_mkdir, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_UNLINK] = { op_unlink, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_RMDIR] = { op_rmdir, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_RENAME] = { op_rename, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_LINK] = { op_link, OP_CHANGES | OP_NAMES | OP_ONCE },
	/* ENOSYS: from then on the kernel opens and closes by itself. */
	[FUSE_OPEN] = { op_unsupported, 0 },
	[FUSE_OPENDIR] = { op_unsupported, 0 },
	/* Only of what CREATE opened before the first OPEN. */
	[FUSE_RELEASE] = { op_nothing, 0 },
	[FUSE_RELEASEDIR] = { op_nothing, 0 },
	[FUSE_READ] = { op_read, 0 },
	[FUSE_WRITE] = { op_write, OP_CHANGES | OP_ONCE },
	[FUSE_STATFS] = { op_statfs, 0 },
	[FUSE_FSYNC] = { op_fsync, 0 },
	[FUSE_FSYNCDIR] = { op_fsync, 0 },
	[FUSE_SETXATTR] = { op_setxattr, OP_CHANGES | OP_ONCE },
	[FUSE_GETXATTR] = { op_getxattr, 0 },
	[FUSE_LISTXATTR] = { op_listxattr, 0 },
	[FUSE_REMOVEXATTR] = { op_removexattr, OP_CHANGES | OP_ONCE },
	/* ENOSYS, remembered by the kernel: saves a round trip a close. */
	[FUSE_FLUSH] = { op_unsupported, 0 },
	[FUSE_INIT] = { op_init, OP_NO_NODE | OP_EARLY },
	[FUSE_READDIR] = { op_readdir, 0 },
	[FUSE_READDIRPLUS] = { op_readdirplus, 0 },
	/* The mount has default_permissions: the guest's kernel decides. */
	[FUSE_ACCESS] = { op_unsupported, 0 },
	[FUSE_CREATE] = { op_create, OP_CHANGES | OP_NAMES | OP_ONCE },
	/* Answers come in order; nothing waits long enough to be stopped. */
	[FUSE_INTERRUPT] = { op_unsupported, OP_NO_NODE },
	[FUSE_DESTROY] = { op_destroy, OP_NO_NODE },
	[FUSE_BATCH_FORGET] = { op_batch_forget, OP_NO_NODE | OP_NO_REPLY },
	[FUSE_FALLOCATE] = { op_fallocate, OP_CHANGES },
	[FUSE_RENAME2] = { op_rename2, OP_CHANGES | OP_NAMES | OP_ONCE },
	[FUSE_LSEEK] = { op_lseek, 0 },
	[FUSE_COPY_FILE_RANGE] = { op_copy, OP_CHANGES },
	[FUSE_SYNCFS] = { op_syncfs, 0 },
};

static const struct row *row_of(uint32_t opcode)
{
	static const struct row unknown = { op_unsupported, OP_NO_NODE };

	if (opcode >= ARRAY_SIZE(rows) || !rows[opcode].serve)
		return &unknown;
	return &rows[opcode];
}

/* A request of the notifier is never done, only answered (op_ticket.c). */
static op_fn *way_of(const struct op *op, const struct row *row)
{
	uint32_t notifier = op->server->announce.notifier;

	if (!notifier || op->request->pid != notifier)
		return row->serve;
	if (op->request->opcode == FUSE_LOOKUP)
		return op_ticket_lookup;
	return row->flags & OP_CHANGES ? op_ticket_change : row->serve;
}

static bool is_once(const struct op *op, const struct row *row)
{
	return (row->flags & OP_ONCE) && way_of(op, row) == row->serve &&
	       once_counts(op);
}

static int serve(struct op *op, const struct row *row)
{
	struct server *server = op->server;
	int result;

	/* A mount that lives on because something in it is open. */
	if (op->share->gone)
		return -ENODEV;
	if (!op->share->initialised && !(row->flags & OP_EARLY))
		return -EIO;
	if (!(row->flags & OP_NO_NODE)) {
		op->node = node_table_by_id(server->nodes, op->share_index,
					    op->request->node);
		if (!op->node)
			return -ESTALE;
	}
	if (server->spares.lost_count && !spare_may_name(op))
		return -ENOENT;
	node_fds_begin_request(&server->fds);
	result = is_once(op, row) ? once_serve(op, row->serve)
				  : way_of(op, row)(op);
	if (result < 0)
		undo_cancel(server);
	if (result == -EEXIST && op->request->promised)
		spare_lost(op);
	if ((result == -ENOSPC || result == -EDQUOT) &&
	    (row->flags & OP_CHANGES))
		room_failed(server, op->share_index);
	if (result >= 0 && (row->flags & OP_NAMES)) {
		ahead_changed(op);
		spare_named(op);
	}
	return result;
}

/*
 * A folder that the host has moved is not where we know it until the event was
 * read. Who changes something in it may have been told that it is done.
 */
static bool may_find_it(const struct row *row, int result)
{
	return result == -ESTALE && (row->flags & OP_CHANGES);
}

/* Of an answer that may be large; 0: it hardly is. */
static size_t most_of(const struct fuse_request *request)
{
	size_t size = request->in.read.size;

	if (request->opcode != FUSE_READ || size > FUSE_WRITE_MAX)
		return 0;
	return RECORD_HEADER_BYTES + sizeof(struct fuse_out_header) + size;
}

static void begin_reply(struct op *op)
{
	size_t left;
	void *room =
		port_room_for(&op->server->port, most_of(op->request), &left);

	reply_begin(op->reply, room, left);
}

/* refused: why it was not understood, an errno; 0: it was. */
static int answer(struct server *server, unsigned share,
		  const struct fuse_request *request, int refused)
{
	const struct row *row = row_of(request->opcode);
	struct reply reply;
	struct op op = { .server = server,
			 .share = &server->shares[share],
			 .share_index = share,
			 .request = request,
			 .reply = &reply };
	int result = -refused;

	if (refused == EBADMSG)
		return -1;
	/* Another folder takes its place. */
	if ((row->flags & OP_NAMES) &&
	    (request->node != server->ahead.changed ||
	     share != server->ahead.changed_share))
		ahead_send_late(server);
	begin_reply(&op);
	if (!refused)
		result = serve(&op, row);
	if (may_find_it(row, result)) {
		watch_hear(server);
		begin_reply(&op);
		result = serve(&op, row);
	}
	if (refused)
		log_limited(LOG_LEVEL_WARN, "opcode %u: refused: errno %d",
			    request->opcode, refused);
	if (row->flags & OP_NO_REPLY || result == OP_LATER)
		return 0;
	port_commit(&server->port,
		    reply_end(&reply, share, request->unique, -result));
	server->port.patient = row->flags & OP_NAMES;
	/* Who changes names has been where he walks. */
	if (row->flags & OP_NAMES)
		scout_rest(&server->scout);
	held_tell(server);
	lower_tell(server);
	room_send(server);
	ahead_send(server);
	walk_answered(server);
	return 0;
}

int ops_serve(struct server *server, unsigned share, const void *bytes,
	      size_t len)
{
	struct fuse_request request;
	int refused = fuse_decode(bytes, len, &request);

	return answer(server, share, &request, refused);
}

int ops_serve_write(struct server *server, unsigned share, const void *bytes,
		    size_t len, const void *data, size_t data_len)
{
	struct fuse_request request;
	int refused = fuse_decode_write(bytes, len, data, data_len, &request);

	return answer(server, share, &request, refused);
}

int ops_serve_make(struct server *server, unsigned share, const void *bytes,
		   size_t len)
{
	struct fuse_request request;
	size_t message_len;
	int refused, result;
	uint64_t promised;

	if (record_make_decode(bytes, len, &message_len, &promised) < 0)
		return -1;
	refused = fuse_decode(bytes, message_len, &request);
	if (request.opcode != FUSE_CREATE)
		return -1;
	request.promised = promised;
	/* Its kernel knows neither length nor owner of what is there. */
	request.in.create.flags |= O_EXCL;
	result = answer(server, share, &request, refused);
	spare_over(server, share, promised);
	spare_give(server, share);
	return result;
}

int op_unsupported(struct op *op)
{
	return -ENOSYS;
}

int op_nothing(struct op *op)
{
	return 0;
}
