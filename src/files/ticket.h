/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticket.h - host changes that the guest shall hear of, in order
 *
 * A change on the host raises no inotify event in the guest. So a thread of
 * the relay, the notifier, does the same operation once more by path, and the
 * server answers it without doing anything. A ticket is the permission for one
 * such answer: it names the change, is sent, is used at most once by a request
 * of the notifier, and is done when the notifier says so. Nobody else's request
 * is ever compared with a ticket.
 *
 * Pure: a bounded queue; the first `sent` tickets are with the guest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

#define TICKET_MAX 2048  /* waiting and sent */
#define TICKET_WINDOW 16 /* sent and not done */
#define TICKET_NAME_MAX 255

struct ticket_place {
	uint64_t folder; /* node id */
	char name[TICKET_NAME_MAX + 1];
};

struct ticket {
	uint32_t kind; /* enum ticket_kind */
	uint32_t type; /* S_IFMT part; 0 where it means nothing */
	uint32_t number;
	uint8_t share;
	bool used;        /* its answer was given */
	bool holds;       /* names are told as invalid only when it is done */
	uint64_t sent_ms; /* when */
	struct ticket_place at;
	struct ticket_place to; /* of a rename */
};

struct ticket_queue {
	struct ticket *tickets; /* owned; a ring of TICKET_MAX */
	unsigned first, count, sent;
	uint32_t number; /* of the last one that was sent */
};

/* What a request of the notifier is about, as far as tickets name it. */
struct ticket_request {
	uint32_t opcode;
	uint8_t share;
	uint64_t folder;
	const char *name;
	uint64_t folder2; /* of a rename */
	const char *name2;
};

enum ticket_role {
	TICKET_NO_ROLE,
	TICKET_CREATED, /* shall be absent, so that it can be made */
	TICKET_REMOVED, /* shall be there, so that it can be removed */
	TICKET_SOURCE,  /* of a rename: shall be there */
	TICKET_TARGET,  /* of a rename: may be absent */
};

void ticket_queue_init(struct ticket_queue *queue);
void ticket_queue_release(struct ticket_queue *queue);

/* NULL: the queue is full. Fill it in; only its kind must be set last. */
struct ticket *ticket_add(struct ticket_queue *queue);
/* The last one added says what one before it says that was not sent: undo. */
bool ticket_fold(struct ticket_queue *queue);
/* The next one to send, numbered; NULL: none, or enough are on their way. */
struct ticket *ticket_send(struct ticket_queue *queue, uint64_t now_ms);
/* Would one that is added now be sent in the same turn? */
bool ticket_is_near(const struct ticket_queue *queue);
/* Those with the guest, the oldest is 0; NULL past the last. */
struct ticket *ticket_sent(struct ticket_queue *queue, unsigned i);
/* Was `number` sent and not taken yet? */
bool ticket_is_sent(const struct ticket_queue *queue, uint32_t number);
/* Drops the oldest one that was sent. */
void ticket_take(struct ticket_queue *queue);

/* The ticket for this change, which is used now; NULL: there is none. */
const struct ticket *ticket_use(struct ticket_queue *queue,
				const struct ticket_request *request);
/* What the name is in a ticket that was not used yet; *found says which. */
enum ticket_role ticket_role(struct ticket_queue *queue, uint8_t share,
			     uint64_t folder, const char *name,
			     const struct ticket **found);
