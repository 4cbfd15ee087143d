/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_create.c - MKNOD, MKDIR, SYMLINK, CREATE, LINK
 */
#include "files/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"
#include "files/entry.h"
#include "files/held.h"

/* Where something new is made: the host's folder, or its shadow (held.h). */
struct place {
	int fd;
	int own_fd; /* owned: the shadow's; -1: it is the host's */
};

static void place_auto(struct place *place)
{
	if (place->own_fd >= 0)
		close(place->own_fd);
}

#define AUTO_PLACE __attribute__((cleanup(place_auto)))
#define NO_PLACE        \
	{               \
		-1, -1, \
	}

/*
 * 0 when `name` of this type may be made there, a link to a target, or one more
 * name of `linked`; or a negative errno.
 */
static int begin(struct op *op, mode_t type, const char *target,
		 struct node *linked, struct place *place)
{
	struct policy_change change = { .what = POLICY_CREATE,
					.node = op->node,
					.name = op->request->name,
					.type = type };
	struct statx st;
	int refused, held;

	if (op->node->type != S_IFDIR)
		return -ENOTDIR;
	refused = policy_change(op->server, &change);
	if (refused)
		return refused;
	watch_folder(op->server, op->node);
	held = held_begin_create(op->server, op->node, op->request->name, type,
				 &place->own_fd);
	if (held < 0)
		return held;
	place->fd = held ? place->own_fd
			 : node_fds_folder(&op->server->fds, op->node);
	if (place->fd < 0)
		return place->fd;
	/* What the guest makes for itself alone is not the host's to undo; nor
	 * is an operation that will fail. */
	if (held || entry_before(op, &st) == 0)
		return 0;
	if (linked)
		undo_linking(op->server, op->node, change.name, linked);
	else
		undo_creating(op->server, op->node, change.name, type, target);
	return 0;
}

static int finish(struct op *op, const struct place *place)
{
	undo_done(op->server);
	if (place->own_fd < 0)
		held_made(op->server, op->node, op->request->name);
	policy_created(op->server, op->share_index);
	watch_own(op->server, op->node, op->request->name, IN_CREATE);
	return entry_reply(op, op->node, op->request->name);
}

/* The same for what did not exist in any form. */
static int finish_new(struct op *op, const struct place *place)
{
	struct statx st;
	int failed;

	if (place->own_fd >= 0 ||
	    entry_stat(op, op->node, op->request->name, &st) < 0)
		return finish(op, place);
	undo_created(op->server, op->share_index, &st);
	failed = finish(op, place);
	if (!failed && S_ISDIR(st.stx_mode))
		ahead_made(op, entry_known(op, &st));
	return failed;
}

int op_mknod(struct op *op)
{
	mode_t type = op->request->in.mknod.mode & S_IFMT;
	AUTO_PLACE struct place place = NO_PLACE;
	int refused;

	/* No devices; and a FIFO would hold up who reads it on the host. */
	if (type != S_IFREG && type != S_IFSOCK && type != 0)
		return -EPERM;
	refused = begin(op, type ? type : S_IFREG, NULL, NULL, &place);
	if (refused)
		return refused;
	if (mknodat(place.fd, op->request->name,
		    type | share_new_mode(op->request->in.mknod.mode, type, 0),
		    0) < 0)
		return -errno;
	return finish_new(op, &place);
}

int op_mkdir(struct op *op)
{
	AUTO_PLACE struct place place = NO_PLACE;
	int refused = begin(op, S_IFDIR, NULL, NULL, &place);

	if (refused)
		return refused;
	/* One that the guest removed, and the host did not. */
	refused = held_make_folder(op->server, op->node, op->request->name);
	if (refused > 0)
		undo_cancel(op->server);
	if (refused)
		return refused < 0
			       ? refused
			       : entry_reply(op, op->node, op->request->name);
	if (mkdirat(place.fd, op->request->name,
		    share_new_mode(op->request->in.mkdir.mode, S_IFDIR, 0)) < 0)
		return -errno;
	return finish_new(op, &place);
}

int op_symlink(struct op *op)
{
	AUTO_PLACE struct place place = NO_PLACE;
	int refused = begin(op, S_IFLNK, op->request->name2, NULL, &place);

	if (refused)
		return refused;
	if (symlinkat(op->request->name2, place.fd, op->request->name) < 0)
		return -errno;
	return finish_new(op, &place);
}

/*
 * The guest's kernel did not know of it. Another try would open it without
 * asking, so this one does what that would.
 */
static int create_existing(struct op *op, struct node *node)
{
	struct policy_change change = { .what = POLICY_CONTENT, .node = node };
	int fd, failed;

	if (!(op->request->in.create.flags & O_TRUNC))
		return 0;
	failed = policy_change(op->server, &change);
	if (failed)
		return failed;
	fd = node_fds_data(&op->server->fds, node, NODE_FD_WRITE);
	if (fd < 0)
		return fd;
	server_wrote(op->server);
	undo_change(op->server, node, UNDO_DATA);
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

static int reply_create(struct op *op, const struct fuse_entry_out *entry)
{
	struct fuse_open_out open = { .open_flags = FOPEN_KEEP_CACHE };

	reply_add(op->reply, entry, sizeof(*entry));
	reply_add(op->reply, &open, sizeof(open));
	return 0;
}

static int open_existing(struct op *op)
{
	struct fuse_entry_out entry;
	struct node *node;
	struct statx st;
	int failed = entry_stat(op, op->node, op->request->name, &st);

	if (failed)
		return failed;
	/* A link is the guest's kernel's to follow: it shall look again. */
	if (!S_ISREG(st.stx_mode))
		return -ESTALE;
	failed =
		entry_give(op, op->node, op->request->name, &st, &entry, &node);
	if (failed)
		return failed;
	failed = create_existing(op, node);
	if (!failed)
		failed = node_fds_stat(&op->server->fds, node, &st);
	if (failed) {
		node_table_forget(op->server->nodes, node, 1);
		return failed;
	}
	share_attr(op->share, &op->server->guest, &st, &entry.attr);
	return reply_create(op, &entry);
}

int op_create(struct op *op)
{
	const struct fuse_create_in *in = &op->request->in.create;
	const char *name = op->request->name;
	AUTO_PLACE struct place place = NO_PLACE;
	struct fuse_entry_out entry;
	AUTO_CLOSE int fd = -1;
	struct node *node;
	struct statx st;
	uint64_t moves;
	int failed;

	if (op->request->promised &&
	    !spare_fits(op->server, op->share_index, op->request->promised))
		return -ESTALE;
	failed = begin(op, S_IFREG, NULL, NULL, &place);
	if (failed == -EEXIST && !(in->flags & O_EXCL))
		return open_existing(op);
	if (failed)
		return failed;
	moves = watch_moves(op->server);
	fd = openat(place.fd, name,
		    O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC |
			    O_NONBLOCK,
		    share_new_mode(in->mode, S_IFREG, 0));
	if (fd < 0 && errno == EEXIST && !(in->flags & O_EXCL))
		return open_existing(op);
	if (fd < 0)
		return -errno;
	undo_done(op->server);
	policy_created(op->server, op->share_index);
	watch_own(op->server, op->node, name, IN_CREATE);
	if (statx(fd, "", AT_EMPTY_PATH, SHARE_STATX, &st) < 0)
		return -errno;
	if (place.own_fd >= 0)
		st.stx_mask |= SHARE_SHADOW;
	else
		undo_opened(op->server, op->share_index, &st);
	failed = entry_give(op, op->node, name, &st, &entry, &node);
	if (failed)
		return failed;
	node_fds_take(&op->server->fds, node, TAKE_FD(fd),
		      NODE_FD_READ | NODE_FD_WRITE);
	held_made_file(op->server, node, moves);
	server_wrote(op->server);
	return reply_create(op, &entry);
}

int op_link(struct op *op)
{
	struct policy_change change = { .what = POLICY_CONTENT };
	struct server *server = op->server;
	AUTO_PLACE struct place place = NO_PLACE;
	int from, refused;
	char number[16];

	change.node = node_table_by_id(server->nodes, op->share_index,
				       op->request->in.link.oldnodeid);
	if (!change.node)
		return -ESTALE;
	if (change.node->type == S_IFDIR)
		return -EPERM;
	refused =
		held_may_link(server, change.node, op->node, op->request->name);
	if (!refused)
		refused = policy_change(server, &change);
	if (!refused)
		refused =
			begin(op, change.node->type, NULL, change.node, &place);
	if (refused)
		return refused;
	from = node_fds_path(&server->fds, change.node);
	if (from < 0)
		return from;
	text_format(number, sizeof(number), "%d", from);
	if (linkat(AT_FDCWD, number, place.fd, op->request->name,
		   AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	watch_own_node(server, change.node, IN_ATTRIB);
	return finish(op, &place);
}
