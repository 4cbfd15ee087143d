/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.c - answers to what the guest will most likely ask next
 */
#include "files/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "files/entry.h"
#include "files/held.h"
#include "files/ops.h"
#include "proto/cursor.h"
#include "proto/record.h"

#define HEAD_BYTES (RECORD_HEADER_BYTES + 24)
/* Answers to real questions have to fit as well. */
#define ROOM_BYTES (2U << 20)
#define AHEAD_NAMES_AGE 4096

static struct ahead_folder *slot_of(struct ahead *ahead, unsigned share,
				    uint64_t id)
{
	return &ahead->folders[record_bucket(share, id, AHEAD_FOLDERS)];
}

void ahead_begin(struct server *server)
{
	server->ahead.turn_count = 0;
	/* Most were never written, and need no memory as long as that is so. */
	for (unsigned i = 0; i < AHEAD_FOLDERS; i++)
		if (server->ahead.folders[i].held)
			server->ahead.folders[i].held = false;
}

void ahead_release(struct server *server)
{
	for (unsigned i = 0; i < AHEAD_FOLDERS; i++)
		free(server->ahead.folders[i].folders);
}

struct ahead_folder *ahead_folder(struct ahead *ahead, unsigned share,
				  uint64_t id)
{
	struct ahead_folder *folder = slot_of(ahead, share, id);

	return id && folder->id == id && folder->share == share ? folder : NULL;
}

void ahead_list(struct op *op, bool first)
{
	struct ahead *ahead = &op->server->ahead;
	uint64_t id = op->request->node;
	struct ahead_folder *folder = ahead_folder(ahead, op->share_index, id);

	ahead->list = NULL;
	if (op->node->watch < 0)
		return;
	if (!first) {
		/* Where the relay told the beginning nothing is new. */
		if (folder && folder->next == op->request->in.read.offset)
			ahead->list = folder;
		return;
	}
	if (!folder) {
		folder = slot_of(ahead, op->share_index, id);
		folder->held = false;
		folder->seen = 0;
	}
	folder->id = id;
	folder->share = (uint8_t)op->share_index;
	folder->count = folder->sent = folder->folder_count = 0;
	folder->fetched = 0;
	folder->next = 0;
	ahead->list = folder;
}

void ahead_listed_to(struct op *op, uint64_t offset)
{
	struct ahead_folder *folder = op->server->ahead.list;

	if (folder && folder->id == op->request->node)
		folder->next = offset;
}

void ahead_absent(struct op *op)
{
	struct ahead *ahead = &op->server->ahead;
	const char *name = op->request->name;
	struct ahead_name *least = &ahead->names[0];

	if (strlen(name) > AHEAD_NAME_MAX)
		return;
	/* What was asked for long ago counts less. */
	if (++ahead->asked % AHEAD_NAMES_AGE == 0) {
		for (unsigned i = 0; i < AHEAD_NAMES; i++)
			ahead->names[i].asked /= 2;
	}
	for (unsigned i = 0; i < AHEAD_NAMES; i++) {
		struct ahead_name *known = &ahead->names[i];

		if (strcmp(known->name, name) == 0) {
			known->asked++;
			return;
		}
		if (known->asked < least->asked)
			least = known;
	}
	least->asked = 1;
	text_copy(least->name, sizeof(least->name), name);
}

/* Remembers a folder whose absent names are to be told. */
static void note_folder(struct op *op, struct node *node)
{
	struct ahead *ahead = &op->server->ahead;

	if (node->watch >= 0 && ahead->inner_count < AHEAD_INNER)
		ahead->inner[ahead->inner_count++] =
			node_table_id(op->server->nodes, node);
	ahead->inner_share = (uint8_t)op->share_index;
}

/* Most folders have few others in them, and some a thousand. */
static void add_folder(struct ahead_folder *folder, uint64_t id)
{
	unsigned room = folder->folder_room ? 2U * folder->folder_room : 8U;

	if (folder->folder_count == AHEAD_INNER_MOST)
		return;
	if (folder->folder_count == folder->folder_room) {
		folder->folders = xrealloc(folder->folders,
					   room * sizeof(*folder->folders));
		folder->folder_room = (uint16_t)room;
	}
	folder->folders[folder->folder_count++] = id;
}

void ahead_listed(struct op *op, struct node *node, const struct statx *st)
{
	struct ahead_folder *folder = op->server->ahead.list;

	if (S_ISDIR(st->stx_mode))
		note_folder(op, node);
	if (!folder || folder->id != op->request->node)
		return;
	if (S_ISDIR(st->stx_mode))
		add_folder(folder, node_table_id(op->server->nodes, node));
	if (folder->count == AHEAD_FILES || !S_ISREG(st->stx_mode) ||
	    st->stx_size == 0 || st->stx_size > AHEAD_FILE_BYTES ||
	    st->stx_nlink > 1)
		return;
	folder->files[folder->count++] = node_table_id(op->server->nodes, node);
}

static uint8_t *begin(struct server *server, size_t room, uint32_t opcode,
		      uint64_t node, uint64_t offset)
{
	size_t left;
	uint8_t *start = port_room(&server->port, &left);
	struct writer w;

	if (left < room)
		return NULL;
	w = writer_over(start + RECORD_HEADER_BYTES,
			HEAD_BYTES - RECORD_HEADER_BYTES);
	writer_u32(&w, opcode);
	writer_u32(&w, 0);
	writer_u64(&w, node);
	writer_u64(&w, offset);
	return start;
}

static void finish(struct server *server, uint8_t *start, unsigned share,
		   size_t len)
{
	struct record record = { .type = RECORD_AHEAD,
				 .share = (uint8_t)share };

	record.len = (uint32_t)(HEAD_BYTES - RECORD_HEADER_BYTES + len);
	record_encode(&record, start);
	port_commit(&server->port, HEAD_BYTES + len);
}

void ahead_end(struct op *op, uint64_t offset)
{
	struct ahead *ahead = &op->server->ahead;

	if (op->node->watch < 0)
		return;
	ahead->end = op->request->node;
	ahead->end_offset = offset;
	ahead->end_share = (uint8_t)op->share_index;
	/* A kernel that has read a folder asks for its times before long. */
	ahead->changed = op->request->node;
	ahead->changed_share = (uint8_t)op->share_index;
	ahead->changed_late = false;
}

static void send_end(struct server *server)
{
	struct ahead *ahead = &server->ahead;
	uint8_t *start = begin(server, ROOM_BYTES, FUSE_READDIR, ahead->end,
			       ahead->end_offset);

	ahead->end = 0;
	if (start)
		finish(server, start, ahead->end_share, 0);
}

/* Somebody on the host may have been fast; we are told only from now on. */
static bool is_empty(struct server *server, struct node *folder)
{
	int fd = node_fds_data(&server->fds, folder, NODE_FD_READ);
	/* `.` and `..` take 24 bytes each */
	long n = fd < 0 ? -1
			: syscall(SYS_getdents64, fd, server->entries,
				  sizeof(server->entries));

	return n == 48 && !held_lists_own(server, folder);
}

void ahead_made(struct op *op, struct node *folder)
{
	/* What lies on another file system may have rules of its own. */
	if (!folder || folder->watch < 0 ||
	    folder->key.dev != op->share->root_dev ||
	    !is_empty(op->server, folder))
		return;
	op->server->ahead.made = node_table_id(op->server->nodes, folder);
	op->server->ahead.made_share = (uint8_t)op->share_index;
}

static void send_made(struct server *server)
{
	struct ahead *ahead = &server->ahead;
	uint8_t *start = begin(server, ROOM_BYTES, FUSE_MKDIR, ahead->made,
			       ENTRY_WATCHED_S);

	ahead->made = 0;
	if (!start)
		return;
	finish(server, start, ahead->made_share, 0);
	spare_give(server, ahead->made_share);
}

static void send_attributes(struct server *server)
{
	struct ahead *ahead = &server->ahead;
	struct op op = { .server = server,
			 .share = &server->shares[ahead->changed_share],
			 .share_index = ahead->changed_share };
	struct node *node =
		node_table_by_id(server->nodes, op.share_index, ahead->changed);
	uint8_t *start =
		begin(server, ROOM_BYTES, FUSE_GETATTR, ahead->changed, 0);
	struct fuse_attr_out out;
	struct statx st;

	ahead->changed = 0;
	ahead->changed_late = false;
	if (!node || !start || node_fds_stat(&server->fds, node, &st) < 0)
		return;
	entry_attr(&op, node, &st, &out);
	memcpy(start + HEAD_BYTES, &out, sizeof(out));
	finish(server, start, op.share_index, sizeof(out));
}

void ahead_changed(struct op *op)
{
	struct ahead *ahead = &op->server->ahead;

	if (op->node->watch < 0)
		return;
	ahead->changed = op->request->node;
	ahead->changed_share = (uint8_t)op->share_index;
	ahead->changed_late = op->request->promised;
}

void ahead_send_late(struct server *server)
{
	if (server->ahead.changed)
		send_attributes(server);
}

/* Of many at once some have to be asked for. */
static void add_turn(struct ahead *ahead, struct ahead_folder *folder)
{
	for (unsigned i = 0; i < ahead->turn_count; i++)
		if (ahead->turns[i] == folder)
			return;
	if (ahead->turn_count < AHEAD_TURNS)
		ahead->turns[ahead->turn_count++] = folder;
}

void ahead_read(struct op *op)
{
	struct server *server = op->server;
	struct node *parent = node_parent(server->nodes, op->node);
	struct ahead_folder *folder;

	if (op->request->in.read.offset || !parent || parent->watch < 0)
		return;
	folder = ahead_folder(&server->ahead, op->share_index,
			      node_table_id(server->nodes, parent));
	if (!folder)
		return;
	if (folder->sent < folder->count)
		add_turn(&server->ahead, folder);
	if (folder->held || folder->seen)
		walk_read(server);
}

/* Bytes sent; 0: not this one. */
static size_t send_file(struct server *server, unsigned share, uint64_t id)
{
	struct node *node = node_table_by_id(server->nodes, share, id);
	uint8_t *start;
	ssize_t n;
	int fd;

	if (!node || (node->flags & NODE_ORPHAN))
		return 0;
	node_fds_begin_request(&server->fds);
	fd = node_fds_data(&server->fds, node, NODE_FD_READ);
	if (fd < 0)
		return 0;
	start = begin(server, ROOM_BYTES, FUSE_READ, id, 0);
	if (!start)
		return 0;
	n = pread(fd, start + HEAD_BYTES, AHEAD_FILE_BYTES + 1, 0);
	/* It must be whole. */
	if (n <= 0 || n > (ssize_t)AHEAD_FILE_BYTES)
		return 0;
	finish(server, start, share, (size_t)n);
	return (size_t)n;
}

/* Those that are asked for everywhere and are not in this folder. */
static void send_absent(struct op *op, uint64_t id)
{
	struct server *server = op->server;
	struct node *folder =
		node_table_by_id(server->nodes, op->share_index, id);
	uint8_t *start =
		begin(server, ROOM_BYTES, FUSE_LOOKUP, id, ENTRY_WATCHED_S);
	struct writer w;
	struct statx st;

	if (!folder || folder->watch < 0 || !start)
		return;
	w = writer_over(start + HEAD_BYTES, AHEAD_NAMES * (AHEAD_NAME_MAX + 1));
	node_fds_begin_request(&server->fds);
	for (unsigned i = 0; i < AHEAD_NAMES; i++) {
		const struct ahead_name *name = &server->ahead.names[i];

		if (name->asked >= AHEAD_NAME_ASKED &&
		    entry_stat(op, folder, name->name, &st) == -ENOENT)
			writer_str(&w, name->name);
	}
	if (writer_len(&w))
		finish(server, start, op->share_index, writer_len(&w));
}

static bool has_names(const struct ahead *ahead)
{
	for (unsigned i = 0; i < AHEAD_NAMES; i++) {
		if (ahead->names[i].asked >= AHEAD_NAME_ASKED)
			return true;
	}
	return false;
}

static void send_inner(struct server *server)
{
	struct ahead *ahead = &server->ahead;
	struct op op = { .server = server,
			 .share = &server->shares[ahead->inner_share],
			 .share_index = ahead->inner_share };

	for (unsigned i = 0; i < ahead->inner_count && has_names(ahead); i++)
		send_absent(&op, ahead->inner[i]);
	ahead->inner_count = 0;
}

uint8_t *ahead_room(struct server *server, uint32_t opcode, uint64_t node)
{
	uint8_t *start = begin(server, ROOM_BYTES, opcode, node, 0);

	return start ? start + HEAD_BYTES : NULL;
}

void ahead_put_listing(struct server *server, uint8_t *body, unsigned share,
		       size_t len, bool whole)
{
	uint8_t *start = body - HEAD_BYTES;
	struct writer w =
		writer_over(start + RECORD_HEADER_BYTES + sizeof(uint32_t),
			    sizeof(uint32_t));

	writer_u32(&w, whole ? RECORD_LISTING_WHOLE : 0);
	finish(server, start, share, len);
}

void ahead_send_rest(struct server *server)
{
	if (server->ahead.end)
		send_end(server);
	if (server->ahead.changed && !server->ahead.changed_late)
		send_attributes(server);
	if (server->ahead.inner_count)
		send_inner(server);
}

void ahead_fetch_files(struct server *server, struct ahead_folder *folder)
{
	while (folder->fetched < folder->count) {
		struct node *node =
			node_table_by_id(server->nodes, folder->share,
					 folder->files[folder->fetched++]);
		int fd;

		if (!node || (node->flags & NODE_ORPHAN))
			continue;
		node_fds_begin_request(&server->fds);
		fd = node_fds_data(&server->fds, node, NODE_FD_READ);
		if (fd >= 0)
			posix_fadvise(fd, 0, AHEAD_FILE_BYTES,
				      POSIX_FADV_WILLNEED);
	}
}

size_t ahead_send_file(struct server *server, struct ahead_folder *folder)
{
	return send_file(server, folder->share, folder->files[folder->sent++]);
}

void ahead_send(struct server *server)
{
	if (server->ahead.made)
		send_made(server);
	ahead_send_rest(server);
}

bool ahead_has_room(struct server *server)
{
	size_t left;

	port_room(&server->port, &left);
	return left >= ROOM_BYTES;
}

bool ahead_send_more(struct server *server)
{
	struct ahead *ahead = &server->ahead;
	struct ahead_folder *folder = ahead->turns[0];

	if (!ahead->turn_count)
		return false;
	if (folder->fetched < folder->count)
		ahead_fetch_files(server, folder);
	else if (folder->sent < folder->count)
		ahead_send_file(server, folder);
	else
		memmove(ahead->turns, ahead->turns + 1,
			--ahead->turn_count * sizeof(*ahead->turns));
	return true;
}
