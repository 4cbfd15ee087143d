/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - answers to what the guest will most likely ask next
 *
 * A round trip costs more than a small file. When one of a folder's small
 * files is read, the others follow unasked; when a listing came to its end,
 * so does the answer to the question for more. The relay keeps them for a
 * while (relay_ahead.h says why that is right). Only what we are told of when
 * the host changes it is sent, so that the relay is told, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;
struct op;
struct server;
struct statx;

#define AHEAD_FOLDERS 64        /* that were listed last */
#define AHEAD_FILES 128         /* of each */
#define AHEAD_FILE_BYTES 65536U /* larger ones are read ahead by the kernel */
#define AHEAD_TURN_BYTES (512U << 10)

struct ahead_folder {
	uint64_t id; /* of its node; 0: none */
	uint8_t share;
	uint16_t count, sent;
	uint64_t files[AHEAD_FILES]; /* ids */
};

struct ahead {
	struct ahead_folder folders[AHEAD_FOLDERS];
	unsigned next;             /* slot */
	struct ahead_folder *list; /* being listed now; or NULL */
	struct ahead_folder *turn; /* to be sent after this answer; or NULL */
	uint64_t end, end_offset;  /* the same: node of a folder; or 0 */
	uint8_t end_share;
};

/* A folder is listed, from its beginning or going on. */
void ahead_list(struct op *op, bool first);
/* An entry of it was given. */
void ahead_listed(struct op *op, struct node *node, const struct statx *st);
/* It came to its end there. */
void ahead_end(struct op *op, uint64_t offset);
/* A file was read. */
void ahead_read(struct op *op);
/* Sends what is due; after the answer. */
void ahead_send(struct server *server);
