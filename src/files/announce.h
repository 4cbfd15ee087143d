/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.h - host changes become tickets (ticket.h), tickets become records
 *
 * The guest's kernel raises the event of a removal or a rename for those who
 * watch the file itself only where it still knows the name. So the message
 * that the name is invalid waits until such a ticket is done, or a moment.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "files/ticket.h"

struct inotify_event;
struct node;
struct server;

/* The first half of a rename; the second follows at once, or never. */
struct announce_move {
	bool waits;
	uint8_t share;
	uint32_t cookie, type;
	struct ticket_place from;
};

struct announce {
	struct ticket_queue queue;
	struct announce_move move;
	struct timer patience; /* runs while tickets are with the guest */
	uint32_t notifier;     /* thread in the guest; 0: no tickets */
	uint32_t ghosts;       /* op_ticket.c: nodes that never were */
};

void announce_init(struct server *server);
void announce_release(struct server *server);
/*
 * A change that the guest may hear of, in a folder that it knows. `type` is
 * the S_IFMT part of what is there now, 0: nothing. True: the name is told as
 * invalid later, by us.
 */
bool announce_event(struct server *server, struct node *folder,
		    const struct inotify_event *event, uint32_t type);
/* Sends what there is; after the events of a turn and when there is room. */
void announce_send(struct server *server);
/* No first half waits any longer. Before announce_send() of a turn. */
void announce_settle(struct server *server);
/* The notifier is done with the tickets up to this one. */
void announce_done(struct server *server, uint32_t number);
