/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.h - answers to what the guest will most likely ask next
 *
 * A round trip costs more than a small file. When one of a folder's small
 * files is read, the others follow unasked; when a listing came to its end,
 * so does the answer to the question for more; and names that programs look
 * for in every folder, most often in vain, are told with the folder. A kernel
 * that added a name asks for the folder before it adds the next, and one that
 * has read a folder when it comes there again. The relay
 * keeps them for a while (relay_ahead.h says why that is right). Only what we
 * are told of when the host changes it is sent, so that the relay is told, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;
struct op;
struct server;
struct statx;

#define AHEAD_FOLDERS 8192      /* that were listed last */
#define AHEAD_FILES 128         /* of each */
#define AHEAD_FILE_BYTES 65536U /* larger ones are read ahead by the kernel */
#define AHEAD_TURNS 16
#define AHEAD_INNER 64        /* whose absent names are told with a listing */
#define AHEAD_INNER_MOST 1024 /* that are remembered of one folder */
#define AHEAD_NAMES 16
#define AHEAD_NAME_MAX 31
#define AHEAD_NAME_ASKED 4 /* then it is looked for everywhere */

/* A name that was asked for in vain, in one folder after the other. */
struct ahead_name {
	unsigned asked;
	char name[AHEAD_NAME_MAX + 1];
};

struct ahead_folder {
	uint64_t id; /* of its node; 0: none */
	uint8_t share;
	bool held;     /* the relay has its listing: walk.h */
	uint16_t seen; /* the walk that has come through it; 0: none */
	uint16_t count, sent, folder_count;
	uint16_t fetched; /* of count: the disk was asked for them */
	uint16_t folder_room;
	uint64_t next;               /* offset: so far it was listed */
	uint64_t files[AHEAD_FILES]; /* ids */
	uint64_t *folders;           /* the same; owned */
};

struct ahead {
	struct ahead_folder folders[AHEAD_FOLDERS];
	struct ahead_name names[AHEAD_NAMES];
	unsigned asked;                          /* in vain, in all */
	struct ahead_folder *list;               /* being listed now; or NULL */
	struct ahead_folder *turns[AHEAD_TURNS]; /* whose files follow */
	unsigned turn_count;
	uint64_t inner[AHEAD_INNER]; /* the same: folders in the listing */
	unsigned inner_count;
	uint8_t inner_share;
	uint64_t end, end_offset; /* the same: node of a folder; or 0 */
	uint8_t end_share;
	uint64_t changed; /* the same: folder with other times now; or 0 */
	uint8_t changed_share;
	bool changed_late; /* nobody waits: it may change again in this turn */
	uint64_t made;     /* the same: new folder; or 0 */
	uint8_t made_share;
};

/* A relay has said hello: it has nothing of what was sent. */
void ahead_begin(struct server *server);
void ahead_release(struct server *server);
/* What is known of a folder that was listed; NULL: nothing. */
struct ahead_folder *ahead_folder(struct ahead *ahead, unsigned share,
				  uint64_t id);
/* A folder is listed, from its beginning or going on. */
void ahead_list(struct op *op, bool first);
/* A name was asked for that is not there. */
void ahead_absent(struct op *op);
/* An entry of it was given. */
void ahead_listed(struct op *op, struct node *node, const struct statx *st);
/* So far, for now. */
void ahead_listed_to(struct op *op, uint64_t offset);
/* It came to its end there. */
void ahead_end(struct op *op, uint64_t offset);
/* A folder was made, and nothing is in it. */
void ahead_made(struct op *op, struct node *folder);
/* Names in op's folder came or went: its kernel will ask for its times. */
void ahead_changed(struct op *op);
/* The end of a turn: what could wait. */
void ahead_send_late(struct server *server);
/* A file was read. */
void ahead_read(struct op *op);
/* Sends what goes with an answer; after it. */
void ahead_send(struct server *server);
/* Where there is too little, all that could be sent is left out. */
bool ahead_has_room(struct server *server);
/* One file of a folder of which one was read; false: there is none. */
bool ahead_send_more(struct server *server);
/* The disk is asked for all of its files at once; nobody waits for it here. */
void ahead_fetch_files(struct server *server, struct ahead_folder *folder);
/* The next file of a folder that has some left; tells how many bytes. */
size_t ahead_send_file(struct server *server, struct ahead_folder *folder);
/* For walk.c: room for the body of an answer; NULL: there is too little. */
uint8_t *ahead_room(struct server *server, uint32_t opcode, uint64_t node);
/* Sends what was put there. */
void ahead_put_listing(struct server *server, uint8_t *body, unsigned share,
		       size_t len, bool whole);
/* What goes with a listing that was sent so. */
void ahead_send_rest(struct server *server);
