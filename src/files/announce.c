/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.c - host changes become tickets, tickets become records
 */
#include "files/announce.h"

#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "files/server.h"
#include "proto/cursor.h"

#define TURN_MS 50
#define HOLD_MS 100  /* a guest that is busy still learns what is true */
#define LOST_MS 2000 /* a notifier that does not answer */
/* Left for answers, and more than two paths take. */
#define ROOM_BYTES (512U << 10)

static void on_patience(struct timer *timer);

void announce_init(struct server *server)
{
	ticket_queue_init(&server->announce.queue);
	server->announce.patience =
		(struct timer){ .name = "tickets", .on_fire = on_patience };
}

void announce_release(struct server *server)
{
	timer_stop(&server->announce.patience);
	ticket_queue_release(&server->announce.queue);
}

static void tell_place(struct server *server, unsigned share,
		       const struct ticket_place *place)
{
	struct node *folder =
		node_table_by_id(server->nodes, share, place->folder);

	if (folder)
		watch_tell_entry(server, folder, place->name);
}

static void let_go(struct server *server, struct ticket *ticket)
{
	if (!ticket->holds)
		return;
	ticket->holds = false;
	tell_place(server, ticket->share, &ticket->at);
	if (ticket->kind == TICKET_RENAME)
		tell_place(server, ticket->share, &ticket->to);
}

static void take(struct server *server)
{
	let_go(server, ticket_sent(&server->announce.queue, 0));
	ticket_take(&server->announce.queue);
}

static void set_place(struct ticket_place *place, const struct server *server,
		      const struct node *folder, const char *name)
{
	place->folder = node_table_id(server->nodes, folder);
	text_copy(place->name, sizeof(place->name), name);
}

static struct ticket *add(struct server *server, enum ticket_kind kind,
			  unsigned share, uint32_t type)
{
	struct ticket_queue *queue = &server->announce.queue;
	bool near = ticket_is_near(queue);
	struct ticket *ticket = ticket_add(queue);

	if (!ticket) {
		log_limited(LOG_LEVEL_WARN,
			    "too many changes at once: some raise no event "
			    "in the guest");
		return NULL;
	}
	ticket->kind = kind;
	ticket->share = (uint8_t)share;
	ticket->type = type;
	ticket->holds =
		near && (kind == TICKET_REMOVE || kind == TICKET_RENAME);
	return ticket;
}

/* What waited for a second half that did not come is gone from here. */
static void settle(struct server *server)
{
	struct announce_move *move = &server->announce.move;
	struct ticket *ticket;

	if (!move->waits)
		return;
	move->waits = false;
	ticket = add(server, TICKET_REMOVE, move->share, move->type);
	if (ticket)
		ticket->at = move->from;
	if (!ticket || !ticket->holds)
		tell_place(server, move->share, &move->from);
}

static bool add_here(struct server *server, struct node *folder,
		     const struct inotify_event *event, enum ticket_kind kind,
		     uint32_t type)
{
	struct ticket *ticket = add(server, kind, folder->key.share, type);

	if (!ticket)
		return false;
	set_place(&ticket->at, server, folder, event->name);
	if (ticket_fold(&server->announce.queue))
		return false;
	return ticket->holds;
}

static bool begin_move(struct server *server, struct node *folder,
		       const struct inotify_event *event)
{
	struct announce_move *move = &server->announce.move;

	move->waits = true;
	move->share = folder->key.share;
	move->cookie = event->cookie;
	move->type = event->mask & IN_ISDIR ? S_IFDIR : S_IFREG;
	set_place(&move->from, server, folder, event->name);
	return true;
}

static bool end_move(struct server *server, struct node *folder,
		     const struct inotify_event *event)
{
	struct announce_move *move = &server->announce.move;
	struct ticket *ticket =
		add(server, TICKET_RENAME, folder->key.share, move->type);

	move->waits = false;
	/* It is looked up again, and shown where it was; see op_ticket.c. */
	tell_place(server, move->share, &move->from);
	if (!ticket)
		return false;
	ticket->at = move->from;
	set_place(&ticket->to, server, folder, event->name);
	return ticket->holds;
}

static bool is_lower(const struct server *server, const struct node *folder)
{
	return server->shares[folder->key.share].flags & RECORD_SHARE_OVERLAY;
}

/*
 * Over an overlay the notifier has one way to raise an event that copies
 * nothing, for a file that is there (relay_ticket.c).
 */
static void tell_overlay(struct server *server, struct node *folder,
			 const struct inotify_event *event, uint32_t type)
{
	if (type == S_IFREG && !(event->mask & (IN_DELETE | IN_MOVED_FROM)))
		add_here(server, folder, event, TICKET_ATTRIB, type);
}

static bool may_hear(struct server *server, const struct node *folder)
{
	return folder->lookups || node_is_root(server->nodes, folder);
}

bool announce_event(struct server *server, struct node *folder,
		    const struct inotify_event *event, uint32_t type)
{
	struct announce_move *move = &server->announce.move;
	uint32_t mask = event->mask;

	if (!server->announce.notifier || !event->len ||
	    !may_hear(server, folder))
		return false;
	if (is_lower(server, folder)) {
		tell_overlay(server, folder, event, type);
		return false;
	}
	if (move->waits && (mask & IN_MOVED_TO) &&
	    move->cookie == event->cookie && move->share == folder->key.share)
		return end_move(server, folder, event);
	settle(server);
	if (mask & IN_MOVED_FROM)
		return begin_move(server, folder, event);
	if (mask & IN_DELETE)
		return add_here(server, folder, event, TICKET_REMOVE,
				mask & IN_ISDIR ? S_IFDIR : S_IFREG);
	if (!type)
		return false;
	if (mask & (IN_CREATE | IN_MOVED_TO))
		add_here(server, folder, event, TICKET_CREATE, type);
	else if (mask & IN_ATTRIB)
		add_here(server, folder, event, TICKET_ATTRIB, type);
	else if (mask & IN_MODIFY)
		add_here(server, folder, event, TICKET_MODIFY, type);
	else if (mask & IN_CLOSE_WRITE)
		add_here(server, folder, event, TICKET_CLOSE_WRITE, type);
	return false;
}

void announce_settle(struct server *server)
{
	settle(server);
}

static bool add_path(struct server *server, struct writer *w, unsigned share,
		     const struct ticket_place *place)
{
	struct node *folder =
		node_table_by_id(server->nodes, share, place->folder);

	if (!folder || node_path(server->nodes, folder, place->name,
				 server->path, PATH_MAX) < 0)
		return false;
	writer_str(w, server->path);
	return !w->bad;
}

/* False: it has no path any more. */
static bool write_record(struct server *server, const struct ticket *ticket)
{
	size_t left;
	uint8_t *start = port_room(&server->port, &left);
	struct writer w = writer_over(start + RECORD_HEADER_BYTES,
				      left - RECORD_HEADER_BYTES);
	struct record record = { .type = RECORD_TICKET,
				 .share = ticket->share };

	writer_u32(&w, ticket->kind | ticket->type);
	writer_u32(&w, ticket->number);
	if (!add_path(server, &w, ticket->share, &ticket->at))
		return false;
	if (ticket->kind == TICKET_RENAME &&
	    !add_path(server, &w, ticket->share, &ticket->to))
		return false;
	record.len = (uint32_t)writer_len(&w);
	record_encode(&record, start);
	port_commit(&server->port, RECORD_HEADER_BYTES + record.len);
	return true;
}

void announce_send(struct server *server)
{
	struct announce *announce = &server->announce;
	uint64_t now_ms = announce->queue.count ? loop_now_ms() : 0;
	struct ticket *ticket;
	size_t left;

	for (;;) {
		port_room(&server->port, &left);
		if (left < ROOM_BYTES)
			break;
		ticket = ticket_send(&announce->queue, now_ms);
		if (!ticket)
			break;
		if (write_record(server, ticket))
			continue;
		ticket->used = true;
		if (announce->queue.sent == 1)
			take(server);
	}
	if (announce->queue.sent && !announce->patience.loop)
		timer_start(server->loop, &announce->patience, TURN_MS);
}

void announce_done(struct server *server, uint32_t number)
{
	struct ticket_queue *queue = &server->announce.queue;

	while (ticket_is_sent(queue, number))
		take(server);
	announce_send(server);
}

static void on_patience(struct timer *timer)
{
	struct server *server =
		CONTAINER_OF(timer, struct server, announce.patience);
	struct ticket_queue *queue = &server->announce.queue;
	uint64_t now_ms = loop_now_ms();
	struct ticket *ticket;
	size_t left;

	port_room(&server->port, &left);
	if (left >= ROOM_BYTES) {
		while ((ticket = ticket_sent(queue, 0)) &&
		       now_ms - ticket->sent_ms >= LOST_MS)
			take(server);
		for (unsigned i = 0; (ticket = ticket_sent(queue, i)); i++) {
			if (now_ms - ticket->sent_ms >= HOLD_MS)
				let_go(server, ticket);
		}
	}
	announce_send(server);
	port_kick(&server->port);
}
