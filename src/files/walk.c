/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - listings of folders that a walk through a tree will come to
 */
#include "files/walk.h"

#include <linux/fuse.h>
#include <string.h>

#include "files/entry.h"
#include "files/ops.h"
#include "proto/record.h"

void walk_begin(struct server *server, bool on)
{
	memset(&server->walk, 0, sizeof(server->walk));
	server->walk.on = on;
	ahead_begin(server);
}

static void add_stop(struct server *server, unsigned share, uint64_t id)
{
	struct walk *walk = &server->walk;
	const struct ahead_folder *known =
		ahead_folder(&server->ahead, share, id);

	if ((known && known->held) || walk->count == WALK_STOPS)
		return;
	walk->stops[walk->count++] = (struct walk_stop){ id, (uint8_t)share };
}

/* The folders in it behind `after` (0: all), so that the first is next. */
static void add_stops(struct server *server, const struct ahead_folder *folder,
		      uint64_t after)
{
	unsigned first = 0;

	for (unsigned i = 0; after && i < folder->folder_count; i++) {
		if (folder->folders[i] == after)
			first = i + 1;
	}
	for (unsigned i = folder->folder_count; i > first; i--)
		add_stop(server, folder->share, folder->folders[i - 1]);
}

static void start(struct walk *walk)
{
	walk->due = true;
	if (walk->credit < WALK_FIRST)
		walk->credit = WALK_FIRST;
}

static const struct ahead_folder *parent_of(struct server *server,
					    unsigned share,
					    const struct node *node,
					    uint64_t *id)
{
	const struct node *parent = node_parent(server->nodes, node);

	*id = parent ? node_table_id(server->nodes, parent) : 0;
	return parent ? ahead_folder(&server->ahead, share, *id) : NULL;
}

void walk_listed(struct op *op)
{
	struct server *server = op->server;
	const struct ahead_folder *parent;
	struct ahead_folder *own = ahead_folder(&server->ahead, op->share_index,
						op->request->node);
	uint64_t id;

	if (!server->walk.on || server->walk.sending || !own)
		return;
	own->held = false; /* it would not have been asked for */
	parent = parent_of(server, op->share_index, op->node, &id);
	if (!parent)
		return;
	/* First what is in it, then what is beside it. */
	add_stops(server, parent, op->request->node);
	add_stops(server, own, 0);
	start(&server->walk);
}

/* How often names of it were asked for; of many at once some are forgotten. */
static unsigned count_asked(struct walk *walk, unsigned share, uint64_t id)
{
	unsigned slot = record_bucket(share, id, WALK_ASKED);
	struct walk_stop *folder = &walk->asked[slot].folder;

	if (folder->id != id || folder->share != share) {
		*folder = (struct walk_stop){ id, (uint8_t)share };
		walk->asked[slot].count = 0;
	}
	return ++walk->asked[slot].count;
}

void walk_found(struct op *op)
{
	struct walk *walk = &op->server->walk;
	uint64_t id = op->request->node, parent;

	if (!walk->on || op->node->watch < 0 ||
	    count_asked(walk, op->share_index, id) % WALK_AGAIN != WALK_NAMES)
		return;
	/* The folder itself is next, then those beside it. */
	if (!parent_of(op->server, op->share_index, op->node, &parent) &&
	    parent)
		add_stop(op->server, op->share_index, parent);
	add_stop(op->server, op->share_index, id);
	start(walk);
}

int walk_used(struct server *server, unsigned share, const void *payload,
	      size_t len)
{
	struct walk *walk = &server->walk;
	size_t count;

	if (!walk->on || record_used_decode(payload, len, &count) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct ahead_folder *folder = ahead_folder(
			&server->ahead, share, record_used_at(payload, i));

		if (folder)
			folder->held = false;
		if (walk->credit < WALK_MOST)
			walk->credit += 2;
	}
	walk->due = true;
	walk_send(server);
	return 0;
}

/* The entry of our own listing at `at`; tells where the next one is. */
static size_t entry_at(const uint8_t *body, size_t at,
		       struct fuse_entry_out *out)
{
	struct fuse_dirent dirent;

	memcpy(out, body + at, sizeof(*out));
	memcpy(&dirent, body + at + sizeof(*out), FUSE_NAME_OFFSET);
	return at +
	       FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + dirent.namelen);
}

/* What may be believed for a second only is not kept for later. */
static bool is_lasting(const uint8_t *body, size_t len)
{
	struct fuse_entry_out out;

	for (size_t at = 0; at < len;) {
		at = entry_at(body, at, &out);
		if (out.nodeid && (out.entry_valid != ENTRY_WATCHED_S ||
				   out.attr_valid != ENTRY_WATCHED_S))
			return false;
	}
	return true;
}

/* Nobody was given these. */
static void take_back(struct op *op, const uint8_t *body, size_t len)
{
	struct fuse_entry_out out;
	struct node *node;

	for (size_t at = 0; at < len;) {
		at = entry_at(body, at, &out);
		node = out.nodeid
			       ? node_table_by_id(op->server->nodes,
						  op->share_index, out.nodeid)
			       : NULL;
		if (node)
			node_table_forget(op->server->nodes, node, 1);
	}
}

/* Lists it into room behind an AHEAD's head; 0: nothing to be sent. */
static size_t list(struct op *op, uint8_t *body, bool *whole)
{
	struct server *server = op->server;
	struct reply reply;
	size_t head = RECORD_HEADER_BYTES + sizeof(struct fuse_out_header);
	size_t len;
	int failed;

	/* A reply begins with two heads; only its body is of use. */
	reply_begin(&reply, body - head, head + WALK_SIZE);
	op->reply = &reply;
	server->ahead.end = 0;
	server->walk.sending = true;
	failed = op_readdirplus(op);
	server->walk.sending = false;
	len = reply.len - head;
	*whole = server->ahead.end == op->request->node;
	if (!failed && len && op->node->watch >= 0 && is_lasting(body, len))
		return len;
	take_back(op, body, failed ? 0 : len);
	server->ahead.end = server->ahead.changed = 0;
	return 0;
}

static void send_listing(struct server *server, const struct walk_stop *stop)
{
	struct fuse_request request = { .opcode = FUSE_READDIRPLUS,
					.node = stop->id,
					.in.read.size = WALK_SIZE };
	struct op op = { .server = server,
			 .share = &server->shares[stop->share],
			 .share_index = stop->share,
			 .request = &request,
			 .node = node_table_by_id(server->nodes, stop->share,
						  stop->id) };
	struct ahead_folder *folder =
		ahead_folder(&server->ahead, stop->share, stop->id);
	uint8_t *body;
	bool whole;
	size_t len;

	if (!op.node || op.node->type != S_IFDIR || op.share->gone ||
	    !op.share->initialised || (folder && folder->held))
		return;
	node_fds_begin_request(&server->fds);
	body = ahead_room(server, FUSE_READDIRPLUS, stop->id);
	len = body ? list(&op, body, &whole) : 0;
	if (!len)
		return;
	ahead_put_listing(server, body, stop->share, len, whole);
	folder = ahead_folder(&server->ahead, stop->share, stop->id);
	if (!folder)
		return;
	folder->held = true;
	add_stops(server, folder, 0);
}

void walk_send(struct server *server)
{
	struct walk *walk = &server->walk;
	unsigned turn = 0;

	if (!walk->due)
		return;
	walk->due = false;
	/* Who waits for an answer need not wait for these. */
	if (walk->count && walk->credit)
		port_kick(&server->port);
	while (walk->count && walk->credit && turn++ < WALK_TURN) {
		struct walk_stop stop = walk->stops[--walk->count];

		walk->credit--;
		send_listing(server, &stop);
		ahead_send_rest(server);
	}
}
