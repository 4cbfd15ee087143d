/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - listings of folders that a walk through a tree will come to
 *
 * find, rg and git ask for one folder after the other, or for name after name
 * in one folder after the other; each is a round trip. When somebody seems to
 * walk, the listings of the next folders are sent before they are asked for, in
 * the order in which a walk comes to them. How many: some at first, then two
 * for each that turns out to be used. The relay keeps them (relay_listing.h)
 * and gives back what its kernel never gets.
 *
 * Who reads files on the way (rg) is sent those of the next folders as well, as
 * long as the relay says that some of them were used.
 *
 * Only listings are sent that may be believed for long: of a watched folder
 * with none but files that have one name.
 *
 * After a while without a question the walk is over. What it has earned is no
 * good for whoever comes next, who may look at one folder only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op;
struct server;

#define WALK_STOPS 1024 /* folders that wait for their turn */
#define WALK_FIRST 32   /* listings for a walk that has just begun */
#define WALK_MOST 256
#define WALK_BESIDE 64 /* folders that follow one: then one is asked for */
#define WALK_SIZE 4096 /* what a kernel asks for at once: a page */
#define WALK_ASKED 256
#define WALK_NAMES 2 /* found in one folder: somebody goes through it */
#define WALK_AGAIN 4 /* and still does */
#define WALK_NEAR 64 /* answers apart; else it is another errand */
#define WALK_PAUSE_MS 1000
/* Files: bytes that are sent for one that was asked for, or used. */
#define WALK_CONTENTS (512U << 10)
#define WALK_FULL 64   /* folders with files that wait to be used */
#define WALK_FETCH 256 /* files that the disk is asked for before */

struct walk_stop {
	uint64_t id;
	uint8_t share;
};

struct walk {
	bool on;                            /* the relay keeps listings */
	uint64_t heard_ms;                  /* when the last question came */
	struct walk_stop stops[WALK_STOPS]; /* the last one is next */
	unsigned count;
	unsigned credit; /* so many may be sent */
	bool back;       /* it goes from the last to the first */
	uint16_t round;  /* which walk this is; never 0 */
	/* Those that were sent, whose files may follow: a ring. */
	struct walk_stop sent[WALK_STOPS];
	unsigned sent_first, sent_count;
	size_t contents; /* so many bytes of these may be sent */
	bool opened;     /* the first of these is being sent */
	unsigned full;   /* of which they were, and are not used yet */
	bool sending;    /* it is us who list */
	uint32_t answers;
	/* Folders in which names were asked for, by their ids. */
	struct {
		struct walk_stop folder;
		unsigned count;
		uint32_t last; /* of the answers */
	} asked[WALK_ASKED];
};

/* The relay has said hello. */
void walk_begin(struct server *server, bool on);
/* op's folder was listed from its beginning. */
void walk_listed(struct op *op);
/* A name was found in op's folder. */
void walk_found(struct op *op);
/* A file was asked for in a folder on the way. */
void walk_read(struct server *server);
/* The relay's kernel has used the listings of these folders, and what is in
 * these files; -1: that is no record. */
int walk_used(struct server *server, unsigned share, const void *payload,
	      size_t len);
void walk_answered(struct server *server);
/* One listing or file that is due; false: nothing is. */
bool walk_send(struct server *server);
