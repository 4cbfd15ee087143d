/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticket.c - host changes that the guest shall hear of, in order
 */
#include "files/ticket.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

#define FOLD_BACK 64 /* how far back a repeated change is looked for */

void ticket_queue_init(struct ticket_queue *queue)
{
	*queue = (struct ticket_queue){
		.tickets = xcalloc(TICKET_MAX, sizeof(struct ticket))
	};
}

void ticket_queue_release(struct ticket_queue *queue)
{
	free(queue->tickets);
	queue->tickets = NULL;
}

static struct ticket *at(const struct ticket_queue *queue, unsigned i)
{
	return &queue->tickets[(queue->first + i) % TICKET_MAX];
}

struct ticket *ticket_add(struct ticket_queue *queue)
{
	struct ticket *ticket;

	if (queue->count == TICKET_MAX)
		return NULL;
	ticket = at(queue, queue->count++);
	ticket->kind = ticket->type = ticket->number = 0;
	ticket->share = 0;
	ticket->used = ticket->holds = false;
	ticket->at.folder = ticket->to.folder = 0;
	ticket->at.name[0] = ticket->to.name[0] = '\0';
	return ticket;
}

static bool is_at(const struct ticket_place *place, uint64_t folder,
		  const char *name)
{
	return place->folder == folder && strcmp(place->name, name) == 0;
}

static bool concerns(const struct ticket *a, const struct ticket_place *place)
{
	return is_at(&a->at, place->folder, place->name) ||
	       (a->kind == TICKET_RENAME &&
		is_at(&a->to, place->folder, place->name));
}

bool ticket_fold(struct ticket_queue *queue)
{
	const struct ticket *last = at(queue, queue->count - 1);

	if (last->kind == TICKET_RENAME)
		return false;
	for (unsigned back = 1; back <= FOLD_BACK; back++) {
		const struct ticket *other;

		if (queue->count - 1 < queue->sent + back)
			return false;
		other = at(queue, queue->count - 1 - back);
		if (other->share != last->share || !concerns(other, &last->at))
			continue;
		/* Only with the change just before, or the order is lost. */
		if (other->kind != last->kind || other->type != last->type)
			return false;
		queue->count--;
		return true;
	}
	return false;
}

bool ticket_is_near(const struct ticket_queue *queue)
{
	return queue->count < TICKET_WINDOW;
}

struct ticket *ticket_send(struct ticket_queue *queue, uint64_t now_ms)
{
	struct ticket *ticket;

	if (queue->sent == queue->count || queue->sent >= TICKET_WINDOW)
		return NULL;
	ticket = at(queue, queue->sent++);
	ticket->number = ++queue->number;
	ticket->sent_ms = now_ms;
	return ticket;
}

struct ticket *ticket_sent(struct ticket_queue *queue, unsigned i)
{
	return i < queue->sent ? at(queue, i) : NULL;
}

bool ticket_is_sent(const struct ticket_queue *queue, uint32_t number)
{
	/* Numbers go round; what is sent are the last ones of them. */
	return queue->number - number < queue->sent;
}

void ticket_take(struct ticket_queue *queue)
{
	queue->first = (queue->first + 1) % TICKET_MAX;
	queue->count--;
	queue->sent--;
}

static uint32_t create_opcode(uint32_t type)
{
	if (type == S_IFDIR)
		return FUSE_MKDIR;
	return type == S_IFLNK ? FUSE_SYMLINK : FUSE_MKNOD;
}

static bool allows(const struct ticket *ticket,
		   const struct ticket_request *request)
{
	if (!is_at(&ticket->at, request->folder, request->name))
		return false;
	switch (ticket->kind) {
	case TICKET_MODIFY:
	case TICKET_CLOSE_WRITE: /* of what may be executed */
	case TICKET_ATTRIB:
		return request->opcode == FUSE_SETATTR;
	case TICKET_CREATE:
		return request->opcode == create_opcode(ticket->type);
	case TICKET_REMOVE:
		return request->opcode ==
		       (ticket->type == S_IFDIR ? FUSE_RMDIR : FUSE_UNLINK);
	case TICKET_RENAME:
		return (request->opcode == FUSE_RENAME ||
			request->opcode == FUSE_RENAME2) &&
		       is_at(&ticket->to, request->folder2, request->name2);
	default:
		return false;
	}
}

const struct ticket *ticket_use(struct ticket_queue *queue,
				const struct ticket_request *request)
{
	for (unsigned i = 0; i < queue->sent; i++) {
		struct ticket *ticket = at(queue, i);

		if (ticket->used || ticket->share != request->share ||
		    !allows(ticket, request))
			continue;
		ticket->used = true;
		return ticket;
	}
	return NULL;
}

static enum ticket_role role_in(const struct ticket *ticket, uint64_t folder,
				const char *name)
{
	bool here = is_at(&ticket->at, folder, name);

	if (ticket->kind == TICKET_CREATE && here)
		return TICKET_CREATED;
	if (ticket->kind == TICKET_REMOVE && here)
		return TICKET_REMOVED;
	if (ticket->kind != TICKET_RENAME)
		return TICKET_NO_ROLE;
	if (here)
		return TICKET_SOURCE;
	return is_at(&ticket->to, folder, name) ? TICKET_TARGET
						: TICKET_NO_ROLE;
}

enum ticket_role ticket_role(struct ticket_queue *queue, uint8_t share,
			     uint64_t folder, const char *name,
			     const struct ticket **found)
{
	for (unsigned i = 0; i < queue->sent; i++) {
		const struct ticket *ticket = at(queue, i);
		enum ticket_role role;

		if (ticket->used || ticket->share != share)
			continue;
		role = role_in(ticket, folder, name);
		*found = ticket;
		if (role != TICKET_NO_ROLE)
			return role;
	}
	return TICKET_NO_ROLE;
}
