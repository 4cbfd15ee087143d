/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room.h - whether what the guest writes will fit
 *
 * The relay answers writes before we have made them (PROTOCOL.md §8). That is
 * right only where nobody need hear of a full disk or a used up quota: so it is
 * told when there is much more room than it can have under way, also for new
 * files, and when that is over. Then everything waits for its own answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "files/node_table.h"

struct server;

#define ROOM_LEAST (256ULL << 20)
#define ROOM_CHECK_BYTES (16ULL << 20) /* written since we looked */
/* The same for inodes: a new one counts for so many bytes. */
#define ROOM_INODES_LEAST 1024
#define ROOM_INODE_BYTES (32U << 10)
/* Something did not fit although it should have. */
#define ROOM_DOUBT_MS 5000

struct room {
	bool on; /* the relay wants to be told */
	bool there[NODE_SHARES_MAX];
	bool due[NODE_SHARES_MAX]; /* to be told after this answer */
	bool any_due;
	uint64_t written[NODE_SHARES_MAX];     /* since we looked */
	uint64_t doubt_until[NODE_SHARES_MAX]; /* ms */
};

/* The relay has said hello. */
void room_begin(struct server *server, bool on);
void room_wrote(struct server *server, unsigned share, uint64_t bytes);
/*
 * Something did not fit: a user's quota, or what a file system keeps for its
 * own needs, shows nowhere else. For a while everything waits for its answer.
 */
void room_failed(struct server *server, unsigned share);
/* The host may have used it up, or given some back. */
void room_look(struct server *server);
/* Tells what is due; between answers. */
void room_send(struct server *server);
