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
 * Only listings are sent that may be believed for long: of a watched folder
 * with none but files that have one name.
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
#define WALK_TURN 64   /* at once; then requests are heard */
#define WALK_SIZE 4096 /* what a kernel asks for at once: a page */
#define WALK_ASKED 256
#define WALK_NAMES 2 /* found in one folder: somebody goes through it */
#define WALK_AGAIN 4 /* and still does */

struct walk_stop {
	uint64_t id;
	uint8_t share;
};

struct walk {
	bool on;                            /* the relay keeps listings */
	struct walk_stop stops[WALK_STOPS]; /* the last one is next */
	unsigned count;
	unsigned credit; /* so many may be sent */
	bool sending;    /* it is us who list */
	/* Folders in which names were asked for, by their ids. */
	struct {
		struct walk_stop folder;
		unsigned count;
	} asked[WALK_ASKED];
	bool due; /* something may be sent after this answer */
};

/* The relay has said hello. */
void walk_begin(struct server *server, bool on);
/* op's folder was listed from its beginning. */
void walk_listed(struct op *op);
/* A name was found in op's folder. */
void walk_found(struct op *op);
/* The relay's kernel has used the listings of these; -1: that is no record. */
int walk_used(struct server *server, unsigned share, const void *payload,
	      size_t len);
/* Sends what is due; after the answer. */
void walk_send(struct server *server);
