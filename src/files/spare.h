/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare.h - nodes for files that the guest makes without waiting for us
 *
 * Who unpacks an archive makes a folder and then one file after the other in
 * it, and waits for each. In a folder that it has just made, that we watch and
 * where nobody else has been, CREATE of a new name will not fail as long as
 * there is room. So the relay is given ids that lead nowhere yet; it answers
 * its kernel with one of them, and says with the request which one that was
 * (RECORD_MAKE). Where it fails after all, because somebody on the host was
 * faster by a millisecond, the id never becomes a node: what the guest does
 * with it fails, and what is on the host stays.
 *
 * Ids are reserved in the table of nodes, so that a successor, which gets the
 * requests that were not answered once more, can give them the same meaning.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "files/node_table.h"
#include "proto/record.h"

/* As many at a time, but for the first. */
#define SPARE_WORTH 16
#define SPARE_LOST_MAX 64

struct op;
struct server;

/* A name that the guest believes to have made, and the host has. */
struct spare_name {
	uint64_t folder, sum;
	unsigned share;
};

struct spares {
	bool on; /* the relay has a use for them */
	struct spare_name lost[SPARE_LOST_MAX]; /* the oldest goes first */
	unsigned lost_count;
	struct spare_list {
		uint64_t ids[RECORD_SPARES_MAX];
		unsigned count;
		unsigned told; /* of these the relay knows; they come first */
	} lists[NODE_SHARES_MAX];
};

/* Finds those that a predecessor has reserved. */
void spare_init(struct server *server);
/* After a HELLO: this relay knows none. */
void spare_begin(struct server *server, bool on);
/* It can make use of some in this share: gives what is missing. */
void spare_give(struct server *server, unsigned share);
/* May a request be answered with this one? Also one that was done before. */
bool spare_fits(struct server *server, unsigned share, uint64_t id);
/* Such a request is done; or it failed, then the id never is a node. */
void spare_over(struct server *server, unsigned share, uint64_t id);
/*
 * It failed because the host has the name. Until the guest has looked it up it
 * means its own file by that name, and must not remove or move the host's:
 * spare_may_name() is false then.
 */
void spare_lost(struct op *op);
bool spare_may_name(struct op *op);
/* The guest has made something of that name. */
void spare_named(struct op *op);
/* The guest was given a list of what is in the folder. */
void spare_listed(struct server *server, unsigned share, uint64_t folder);
