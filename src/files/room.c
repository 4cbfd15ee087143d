/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.c - whether what the guest writes will fit
 */
#include "files/room.h"

#include <sys/vfs.h>

#include "files/server.h"
#include "proto/cursor.h"

static uint64_t left_of(struct server *server, unsigned share)
{
	const struct share *of = &server->shares[share];
	uint64_t used = node_table_usage(server->nodes, share)->bytes;
	uint64_t limit = of->quota_bytes, left, inodes;
	struct statfs st;

	if (of->gone ||
	    (of->flags & (RECORD_SHARE_READ_ONLY | RECORD_SHARE_OVERLAY)))
		return 0;
	if (fstatfs(of->root_fd, &st) < 0)
		return 0;
	/* Some file systems do not count them. */
	if (st.f_files && st.f_ffree < ROOM_INODES_LEAST)
		return 0;
	inodes = node_table_usage(server->nodes, share)->inodes;
	if (of->quota_inodes && inodes + ROOM_INODES_LEAST > of->quota_inodes)
		return 0;
	left = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	if (limit && (used >= limit || limit - used < left))
		left = used >= limit ? 0 : limit - used;
	return left;
}

static void look(struct server *server, unsigned share)
{
	struct room *room = &server->room;
	bool there = loop_now_ms() >= room->doubt_until[share] &&
		     left_of(server, share) >= ROOM_LEAST;

	room->written[share] = 0;
	if (there == room->there[share])
		return;
	room->there[share] = there;
	room->due[share] = room->any_due = true;
}

void room_begin(struct server *server, bool on)
{
	server->room = (struct room){ .on = on };
	room_look(server);
	room_send(server);
}

void room_wrote(struct server *server, unsigned share, uint64_t bytes)
{
	struct room *room = &server->room;

	room->written[share] += bytes;
	if (room->on && room->written[share] >= ROOM_CHECK_BYTES)
		look(server, share);
}

void room_failed(struct server *server, unsigned share)
{
	server->room.doubt_until[share] = loop_now_ms() + ROOM_DOUBT_MS;
	if (server->room.on)
		look(server, share);
}

void room_look(struct server *server)
{
	for (unsigned i = 0; server->room.on && i < server->share_count; i++)
		look(server, i);
}

#define TOLD_BYTES (RECORD_HEADER_BYTES + RECORD_ROOM_BYTES)

/* Whether there was place for it in the port; else it stays due. */
static bool tell(struct server *server, unsigned share)
{
	struct record record = { .type = RECORD_ROOM,
				 .share = (uint8_t)share,
				 .len = RECORD_ROOM_BYTES };
	size_t left;
	uint8_t *start = port_room(&server->port, &left);
	struct writer w;

	if (left < TOLD_BYTES)
		return false;
	w = writer_over(start + RECORD_HEADER_BYTES, RECORD_ROOM_BYTES);
	record_encode(&record, start);
	writer_u32(&w, server->room.there[share]);
	port_commit(&server->port, TOLD_BYTES);
	return true;
}

void room_send(struct server *server)
{
	struct room *room = &server->room;
	bool any = false;

	for (unsigned i = 0; room->any_due && i < server->share_count; i++) {
		if (room->due[i])
			room->due[i] = !tell(server, i);
		any |= room->due[i];
	}
	room->any_due = any;
}
