/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once.c - a request that must not be done twice
 *
 * Of a request that was begun by a predecessor, and no more is known, what lay
 * at its name before says the rest: it is tried, and when it fails because it
 * was done already, that is no failure.
 */
#include "files/once.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "files/entry.h"

static uint64_t add_text(uint64_t sum, const char *text)
{
	while (text && *text)
		sum = (sum ^ (uint8_t)*text++) * 0x100000001b3ULL;
	return (sum ^ 0xff) * 0x100000001b3ULL;
}

/* A write comes again without O_APPEND, so its flags do not count. */
static struct reply_key key_of(const struct op *op)
{
	const struct fuse_request *request = op->request;
	uint64_t sum = 0xcbf29ce484222325ULL;

	sum = add_text(sum, request->name);
	sum = add_text(sum, request->name2);
	if (request->opcode == FUSE_LINK)
		sum ^= request->in.link.oldnodeid;
	if (request->opcode == FUSE_WRITE)
		sum ^= request->in.write.offset ^ request->in.write.size;
	return (struct reply_key){ .unique = request->unique,
				   .node = request->node,
				   .sum = sum,
				   .opcode = request->opcode,
				   .share = (uint8_t)op->share_index };
}

/* What lies at the request's name; 0: nothing. */
static uint64_t ino_at(struct op *op)
{
	struct statx st;

	if (!op->request->name || op->node->type != S_IFDIR ||
	    entry_before(op, &st) != 0)
		return 0;
	return st.stx_ino;
}

/* The note stays: this process may be killed before it is heard, too. */
static int say_again(struct op *op, const struct reply_note *note)
{
	int result = note->result;

	if (result == 0 && reply_add(op->reply, note->body, note->len) < 0)
		result = -EIO;
	return result;
}

static int give_made(struct op *op)
{
	struct fuse_request again = *op->request;
	const struct fuse_request *request = op->request;
	int result;

	if (request->opcode != FUSE_CREATE)
		return entry_reply(op, op->node, request->name);
	again.in.create.flags &= ~(uint32_t)O_EXCL;
	op->request = &again;
	result = op_create(op);
	op->request = request;
	return result;
}

static uint64_t new_folder(const struct fuse_request *request)
{
	return request->opcode == FUSE_RENAME2 ? request->in.rename2.newdir
					       : request->in.rename.newdir;
}

/* What lay at the first name lies at the second one. */
static bool was_moved(struct op *op, uint64_t ino)
{
	const struct fuse_request *request = op->request;
	struct node *to = node_table_by_id(op->server->nodes, op->share_index,
					   new_folder(request));
	struct statx st;

	if (!to || to->type != S_IFDIR ||
	    entry_stat(op, to, request->name2, &st) != 0 || st.stx_ino != ino)
		return false;
	entry_moved(op, &st, to, request->name2);
	return true;
}

/* It was begun before and fails now: because it had been done? */
static int settle(struct op *op, const struct reply_note *note, int result)
{
	switch (op->request->opcode) {
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_LINK:
	case FUSE_CREATE:
		return result == -EEXIST && !note->ino ? give_made(op) : result;
	case FUSE_UNLINK:
	case FUSE_RMDIR:
		return result == -ENOENT && note->ino ? 0 : result;
	case FUSE_RENAME:
	case FUSE_RENAME2:
		return result == -ENOENT && note->ino &&
				       was_moved(op, note->ino)
			       ? 0
			       : result;
	default:
		return result;
	}
}

/* Done once more it would be taken back. */
static bool was_exchanged(struct op *op, const struct reply_note *note)
{
	return op->request->opcode == FUSE_RENAME2 &&
	       (op->request->in.rename2.flags & RENAME_EXCHANGE) && note->ino &&
	       ino_at(op) != note->ino && was_moved(op, note->ino);
}

bool once_counts(const struct op *op)
{
	struct reply_key key;

	if (op->request->opcode != FUSE_WRITE ||
	    (op->request->in.write.flags & O_APPEND))
		return true;
	if (!op->server->replies.count)
		return false;
	key = key_of(op);
	return reply_log_find(&op->server->replies, &key);
}

int once_serve(struct op *op, op_fn *serve)
{
	struct reply_log *log = &op->server->replies;
	struct reply_key key = key_of(op);
	struct reply_note *note = reply_log_find(log, &key);
	bool again = note;
	size_t start = op->reply->len;
	int result;

	if (note && note->state == REPLY_DONE)
		return say_again(op, note);
	if (note && was_exchanged(op, note))
		return 0;
	if (!note)
		note = reply_log_begin(log, &key, ino_at(op));
	result = serve(op);
	if (again && result < 0) {
		undo_cancel(op->server);
		result = settle(op, note, result);
	}
	/* Nothing was done, and it is tried again. */
	if (result == -ESTALE)
		reply_log_drop(note);
	else if (result <= 0)
		reply_log_done(note, result, op->reply->bytes + start,
			       result < 0 ? 0 : op->reply->len - start);
	return result;
}
