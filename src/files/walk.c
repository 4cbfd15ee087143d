/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - listings of folders that a walk through a tree will come to
 */
#include "files/walk.h"

#include <linux/fuse.h>
#include <string.h>

#include "base/loop.h"
#include "files/entry.h"
#include "files/ops.h"
#include "proto/record.h"

void walk_begin(struct server *server, bool on)
{
	memset(&server->walk, 0, sizeof(server->walk));
	server->walk.on = on;
	server->walk.round = 1;
	ahead_begin(server);
}

static void add_stop(struct server *server, unsigned share, uint64_t id)
{
	struct walk *walk = &server->walk;
	const struct ahead_folder *known =
		ahead_folder(&server->ahead, share, id);

	if ((known && (known->held || known->seen == walk->round)) ||
	    walk->count == WALK_STOPS)
		return;
	walk->stops[walk->count++] = (struct walk_stop){ id, (uint8_t)share };
}

static unsigned place_of(const struct ahead_folder *folder, uint64_t id)
{
	unsigned i = 0;

	while (i < folder->folder_count && folder->folders[i] != id)
		i++;
	return i;
}

/*
 * The next folders in it that follow `after` (0: none), so that the first is
 * next. Not all of many: each question for one adds some once more.
 */
static void add_stops(struct server *server, const struct ahead_folder *folder,
		      uint64_t after)
{
	unsigned count = folder->folder_count, place = place_of(folder, after);
	unsigned first = place < count ? place + 1 : 0;
	unsigned most = WALK_BESIDE;

	if (server->walk.back) {
		for (unsigned i = place > most ? place - most : 0; i < place;
		     i++)
			add_stop(server, folder->share, folder->folders[i]);
		return;
	}
	if (count - first > most)
		count = first + most;
	for (unsigned i = count; i > first; i--)
		add_stop(server, folder->share, folder->folders[i - 1]);
}

static bool was_listed(struct server *server, const struct ahead_folder *in,
		       unsigned place)
{
	return ahead_folder(&server->ahead, in->share, in->folders[place]);
}

/*
 * Who keeps on a stack what is still to be seen goes through a folder from its
 * end (rg does). Where it is not clear it goes on as before.
 */
static void find_direction(struct server *server,
			   const struct ahead_folder *parent, uint64_t id)
{
	unsigned place = place_of(parent, id), last = parent->folder_count - 1;
	bool before, behind;

	if (parent->folder_count < 2 || place > last)
		return;
	if (place == 0 || place == last) {
		if (!was_listed(server, parent, last - place))
			server->walk.back = place == last;
		return;
	}
	before = was_listed(server, parent, place - 1);
	behind = was_listed(server, parent, place + 1);
	if (before != behind)
		server->walk.back = behind;
}

/* Somebody asks for it: twice is not the same walk. */
static void find_round(struct walk *walk, const struct ahead_folder *folder)
{
	if (folder->seen == walk->round && !++walk->round)
		walk->round = 1;
}

/* A question came: is it of the walk that we know of? */
static void hear(struct server *server)
{
	struct walk *walk = &server->walk;
	uint64_t now_ms = loop_now_ms();

	if (now_ms - walk->heard_ms >= WALK_PAUSE_MS) {
		walk->count = walk->credit = walk->sent_count = walk->full = 0;
		walk->contents = 0;
		walk->opened = false;
		scout_end(&server->scout);
	}
	walk->heard_ms = now_ms;
}

/* What is in op's folder, and beside it. */
static void start(struct op *op)
{
	struct server *server = op->server;
	struct node *above = node_parent(server->nodes, op->node);

	scout_begin(server, op->share_index, above ? above : op->node,
		    server->walk.back);
	if (server->walk.credit < WALK_FIRST)
		server->walk.credit = WALK_FIRST;
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
	hear(server);
	own->held = false; /* it would not have been asked for */
	find_round(&server->walk, own);
	own->seen = server->walk.round;
	parent = parent_of(server, op->share_index, op->node, &id);
	if (!parent)
		return;
	find_direction(server, parent, op->request->node);
	/* First what is in it, then what is beside it. */
	add_stops(server, parent, op->request->node);
	add_stops(server, own, 0);
	start(op);
}

/* How often names of it were asked for, one soon after the other; of many at
 * once some are forgotten. */
static unsigned count_asked(struct walk *walk, unsigned share, uint64_t id)
{
	unsigned slot = record_bucket(share, id, WALK_ASKED);
	struct walk_stop *folder = &walk->asked[slot].folder;

	if (folder->id != id || folder->share != share ||
	    walk->answers - walk->asked[slot].last > WALK_NEAR) {
		*folder = (struct walk_stop){ id, (uint8_t)share };
		walk->asked[slot].count = 0;
	}
	walk->asked[slot].last = walk->answers;
	return ++walk->asked[slot].count;
}

void walk_found(struct op *op)
{
	struct walk *walk = &op->server->walk;
	uint64_t id = op->request->node, parent;
	struct ahead_folder *own;

	if (!walk->on || op->node->watch < 0)
		return;
	hear(op->server);
	if (count_asked(walk, op->share_index, id) % WALK_AGAIN != WALK_NAMES)
		return;
	own = ahead_folder(&op->server->ahead, op->share_index, id);
	if (own)
		find_round(walk, own);
	/* The folder itself is next, then those beside it. */
	if (!parent_of(op->server, op->share_index, op->node, &parent) &&
	    parent)
		add_stop(op->server, op->share_index, parent);
	add_stop(op->server, op->share_index, id);
	start(op);
}

void walk_read(struct server *server)
{
	struct walk *walk = &server->walk;

	hear(server);
	walk->contents = WALK_CONTENTS;
	/* It came another way: some of these wait for nobody. */
	if (walk->full > WALK_FULL / 2)
		walk->full = WALK_FULL / 2;
}

static struct ahead_folder *folder_of(struct server *server,
				      const struct walk_stop *stop)
{
	return ahead_folder(&server->ahead, stop->share, stop->id);
}

/* Of a folder that comes a little later: read one by one, each file would be
 * waited for. False: enough are on their way. */
static bool fetch_contents(struct server *server)
{
	struct walk *walk = &server->walk;
	unsigned files = 0;

	for (unsigned i = 0; i < walk->sent_count && files < WALK_FETCH; i++) {
		struct ahead_folder *folder = folder_of(
			server,
			&walk->sent[(walk->sent_first + i) % WALK_STOPS]);

		if (folder && folder->fetched < folder->count) {
			ahead_fetch_files(server, folder);
			return true;
		}
		files += folder ? folder->count : 0;
	}
	return false;
}

/* The next folder that was sent has had its turn. */
static void pass(struct walk *walk)
{
	walk->sent_first = (walk->sent_first + 1) % WALK_STOPS;
	walk->sent_count--;
	walk->full += walk->opened;
	walk->opened = false;
}

/* A file of the folders that come soon. */
static bool send_contents(struct server *server)
{
	struct walk *walk = &server->walk;

	if (!walk->contents)
		return false;
	while (walk->sent_count && walk->full < WALK_FULL) {
		struct ahead_folder *folder =
			folder_of(server, &walk->sent[walk->sent_first]);
		size_t sent;

		if (!folder || folder->sent == folder->count) {
			pass(walk);
			continue;
		}
		walk->opened = true;
		if (fetch_contents(server))
			return true;
		sent = ahead_send_file(server, folder);
		walk->contents -= sent < walk->contents ? sent : walk->contents;
		return true;
	}
	return false;
}

static void note_sent(struct walk *walk, const struct walk_stop *stop)
{
	unsigned at = (walk->sent_first + walk->sent_count) % WALK_STOPS;

	walk->sent[at] = *stop;
	if (walk->sent_count < WALK_STOPS) {
		walk->sent_count++;
		return;
	}
	walk->sent_first = (at + 1) % WALK_STOPS;
	walk->opened = false;
}

static void use_folder(struct server *server, unsigned share, uint64_t id)
{
	struct walk *walk = &server->walk;
	struct ahead_folder *folder = ahead_folder(&server->ahead, share, id);

	spare_listed(server, share, id);
	if (folder) {
		folder->held = false;
		folder->seen = walk->round;
	}
	if (walk->credit < WALK_MOST)
		walk->credit += 2;
	if (walk->full)
		walk->full--;
	scout_go_on(&server->scout);
}

static void use(struct server *server, unsigned share, uint64_t id)
{
	const struct node *node = node_table_by_id(server->nodes, share, id);

	if (node && node->type == S_IFREG)
		server->walk.contents = WALK_CONTENTS;
	else
		use_folder(server, share, id);
}

int walk_used(struct server *server, unsigned share, const void *payload,
	      size_t len)
{
	size_t count;

	if (!server->walk.on || record_nodes_decode(payload, len, &count) < 0)
		return -1;
	hear(server);
	for (size_t i = 0; i < count; i++)
		use(server, share, record_node_at(payload, i));
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
	note_sent(&server->walk, stop);
	add_stops(server, folder, 0);
}

void walk_answered(struct server *server)
{
	server->walk.answers++;
}

bool walk_send(struct server *server)
{
	struct walk *walk = &server->walk;
	struct walk_stop stop;

	if (!walk->count || !walk->credit)
		return send_contents(server);
	stop = walk->stops[--walk->count];
	walk->credit--;
	send_listing(server, &stop);
	ahead_send_rest(server);
	return true;
}
