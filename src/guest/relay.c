/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - the loop, what is sent, PID 1
 *
 * Sources: the files port; /dev/fuse of each share; the socket to
 * PID 1; the pipe of the child that mounts. There are no timers. System calls
 * are dear under emulation: a round reads all that is there and writes to the
 * port once. So are wake-ups: relay_spin.h.
 */
#include "guest/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/gate.h"
#include "guest/relay_internal.h"
#include "guest/steady.h"
#include "proto/cursor.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif
#define NICE (-20)
#define HOLD_MS 1
#define HOLD_ROUNDS 24
#define HOLD_BYTES (16U << 10)
/* The same where there is no CPU to spare. */
#define HOLD_ROUNDS_FEW 400
#define HOLD_BYTES_FEW (96U << 10)
#define FEW_CPUS 2
#define EVENTS_MAX 16
#define FILES_MAX 1024

int relay_watch(struct relay *relay, int fd, unsigned number, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u32 = number };

	return epoll_ctl(relay->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void tell_init(struct relay *relay, struct relay_message *message)
{
	if (send(relay->control_fd, message, sizeof(*message), MSG_NOSIGNAL) <
	    0)
		_exit(1); /* nobody to work for */
}

/* Requests that a new server has not seen, before anything that is new. */
static void send_again(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;

	while (relay->pending.resend) {
		uint8_t *room = stream_out_room(out);
		struct pending *pending;

		if (!room)
			return;
		pending = relay->pending.resend;
		relay_fuse_repeat(pending);
		if (!relay_bulk_send(relay, pending, room))
			return; /* an answer makes room */
		pending->sent = true;
		pending_next(&relay->pending);
	}
}

static void wait_for_port(struct relay *relay, bool full)
{
	struct epoll_event event = { .events = EPOLLIN | (full ? EPOLLOUT : 0U),
				     .data.u32 = RELAY_EVENT_PORT };

	if (full == relay->waits_for_port)
		return;
	relay->waits_for_port = full;
	/* The ring's reader wakes us. */
	if (relay->rings.out)
		event.events = EPOLLIN;
	epoll_ctl(relay->epoll_fd, EPOLL_CTL_MOD, relay->port_fd, &event);
}

static ssize_t write_out(struct relay *relay, const uint8_t *bytes, size_t len)
{
	if (relay->rings.out)
		return (ssize_t)relay_rings_write(relay, bytes, len);
	return write(relay->port_fd, bytes, len);
}

void relay_send(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	bool all;

	relay_walk_tell(relay);
	relay_bulk_tell(relay);
	for (;;) {
		size_t len;
		ssize_t n;

		if (relay->pending.resend && relay->connected)
			send_again(relay);
		if (out->start == out->end)
			break;
		len = stream_out_piece(out);
		n = write_out(relay, out->bytes + out->start, len);
		if (n < 0 && errno == EINTR)
			continue;
		stream_out_sent(out, n > 0 ? (size_t)n : 0);
		if (n <= 0)
			break;
	}
	relay_rings_announce(relay);
	all = out->start == out->end && relay_rings_enter(relay);
	if (all)
		relay->urgent = false;
	wait_for_port(relay, !all);
}

static void say_hello(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	uint8_t *room = stream_out_room(out) + RECORD_HEADER_BYTES;
	struct writer w = writer_over(room, RECORD_HELLO_BYTES);
	uint64_t initialised = 0;

	for (unsigned i = 0; i < relay->count; i++) {
		if (relay->shares[i].initialised)
			initialised |= 1ULL << i;
	}
	writer_u32(&w, RECORD_VERSION);
	writer_u32(&w, relay->notifier.thread);
	writer_u64(&w, initialised);
	writer_u32(&w, RECORD_READS_ROOM | RECORD_KEEPS_LISTINGS |
			       RECORD_MAKES_FILES | relay_bulk_features(relay) |
			       relay_rings_features(relay));
	stream_out_commit(out, RECORD_HELLO, 0, writer_len(&w));
	relay->urgent = true;
	relay->connected = true;
}

void relay_new_server(struct relay *relay,
		      const uint8_t marker[RECORD_MARKER_BYTES])
{
	relay->calling = relay->call_due = false;
	relay_rings_reset(relay);
	stream_in_reset(&relay->in);
	stream_out_raw(&relay->shared->out, marker, RECORD_MARKER_BYTES);
	say_hello(relay);
	relay_bulk_reset(relay);
	pending_rewind(&relay->pending);
	ahead_clear(&relay->ahead);
	listings_clear(&relay->listings);
	relay_early_reset(relay);
}

static void report_if_done(struct relay *relay)
{
	struct relay_message message = { .type = RELAY_READY };

	if (!relay->welcomed || relay_mount_waits(relay))
		return;
	relay->welcomed = false;
	gate_open();
	text_copy(message.problem, sizeof(message.problem), relay->problem);
	relay->problem[0] = '\0';
	tell_init(relay, &message);
}

static void adopt(struct relay_share *share, const struct welcome_share *offer)
{
	bool gone = offer->flags & RECORD_SHARE_GONE;

	if (share->state == RELAY_SHARE_NONE && !gone) {
		share->state = RELAY_SHARE_OFFERED;
		share->flags = offer->flags;
		share->type = offer->type;
		share->path = xstrdup(offer->path);
	} else if (gone && share->state == RELAY_SHARE_MOUNTED) {
		share->state = RELAY_SHARE_LEAVING;
	} else if (share->state == RELAY_SHARE_MOUNTED &&
		   (offer->flags & ~share->flags & RECORD_SHARE_OVERLAY)) {
		share->flags = offer->flags;
		share->state = RELAY_SHARE_BARE;
	} else if (gone && (share->state == RELAY_SHARE_MOUNTING ||
			    share->state == RELAY_SHARE_BARE)) {
		share->flags |= RECORD_SHARE_GONE; /* when it is there */
	} else if (gone && share->state == RELAY_SHARE_OFFERED) {
		share->state = RELAY_SHARE_OVER;
	}
}

/* All zeros: there will be no other server. */
static bool is_marker(const uint8_t marker[RECORD_MARKER_BYTES])
{
	static const uint8_t zeros[RECORD_MARKER_BYTES];

	return memcmp(marker, zeros, sizeof(zeros)) != 0;
}

void relay_note_marker(struct relay_shared *shared,
		       const uint8_t marker[RECORD_MARKER_BYTES])
{
	if (!is_marker(marker))
		return;
	memcpy(shared->markers[1], shared->markers[0], RECORD_MARKER_BYTES);
	memcpy(shared->markers[0], marker, RECORD_MARKER_BYTES);
	if (shared->marker_count < 2)
		shared->marker_count++;
}

static bool on_welcome(struct relay *relay, const uint8_t *payload, size_t len)
{
	struct welcome welcome;

	if (welcome_decode(payload, len, &welcome))
		return false;
	relay_note_marker(relay->shared, welcome.next_marker);
	for (unsigned i = 0; i < welcome.count; i++)
		adopt(&relay->shares[i], &welcome.shares[i]);
	if (welcome.count > relay->count)
		relay->count = welcome.count;
	relay->welcomed = true;
	relay_mount_next(relay);
	report_if_done(relay);
	return true;
}

bool relay_record(struct relay *relay, const struct record *record,
		  const uint8_t *payload)
{
	switch (record->type) {
	case RECORD_WELCOME:
		return on_welcome(relay, payload, record->len);
	case RECORD_FUSE:
		return record->share < relay->count &&
		       relay_fuse_reply(relay, record->share, payload,
					record->len);
	case RECORD_AHEAD:
		relay_fuse_ahead(relay, record->share, payload, record->len);
		return true;
	case RECORD_BULK:
		return relay_bulk_receive(relay, payload, record->len,
					  relay_record);
	case RECORD_ROOM:
		return relay_early_room(relay, record->share, payload,
					record->len);
	case RECORD_SPARE:
		return relay_make_spares(relay, record->share, payload,
					 record->len);
	case RECORD_DROP:
		ahead_clear(&relay->ahead);
		listings_clear(&relay->listings);
		known_clear(&relay->known);
		relay_notify(relay, record, payload);
		return true;
	case RECORD_TICKET:
		relay_notify(relay, record, payload);
		return true;
	case RECORD_RINGS:
		return relay_rings_offer(relay, payload, record->len);
	case RECORD_WAKE:
		return true; /* of a server that did not know yet */
	default:
		return false;
	}
}

/* The notifier is done with some; the last number stands for all. */
static void send_tickets(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	uint32_t numbers[64];
	ssize_t n = read(relay->ticket_fds[0], numbers, sizeof(numbers));
	uint8_t *room = stream_out_room(out);
	struct writer w;

	if (n < (ssize_t)sizeof(numbers[0]) || !room || !relay->connected)
		return;
	w = writer_over(room + RECORD_HEADER_BYTES, sizeof(numbers[0]));
	writer_u32(&w, numbers[(size_t)n / sizeof(numbers[0]) - 1]);
	stream_out_commit(out, RECORD_TICKET, 0, writer_len(&w));
	relay->urgent = true;
}

static void begin_finish(struct relay *relay)
{
	relay->finishing = true;
	for (unsigned i = 0; i < relay->count; i++) {
		struct relay_share *share = &relay->shares[i];

		if (share->state == RELAY_SHARE_MOUNTED)
			share->state = RELAY_SHARE_LEAVING;
	}
	relay_mount_next(relay);
}

static void on_control(struct relay *relay)
{
	struct relay_message message;
	unsigned other;
	ssize_t n = recv(relay->control_fd, &message, sizeof(message), 0);

	if (n != (ssize_t)sizeof(message))
		_exit(1);
	if (message.type == RELAY_FINISH) {
		begin_finish(relay);
		return;
	}
	/* Beside the announced one: the machine that goes on after the snapshot
	 * may lose its server later. */
	other = relay->shared->marker_count ? 1 : 0;
	memcpy(relay->shared->markers[other], message.marker,
	       sizeof(message.marker));
	relay->shared->marker_count = other + 1;
	relay->preparing = true;
}

/* What is under way would be done once more by the restored machine. */
static void say_taken(struct relay *relay)
{
	struct relay_message message = { .type = RELAY_TAKEN };

	if (!relay->preparing || relay->pending.count)
		return;
	relay->preparing = false;
	tell_init(relay, &message);
}

static void dispatch(struct relay *relay, const struct epoll_event *event)
{
	switch (event->data.u32) {
	case RELAY_EVENT_PORT:
		if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			relay_receive(relay);
		break;
	case RELAY_EVENT_CONTROL:
		on_control(relay);
		break;
	case RELAY_EVENT_TICKET:
		send_tickets(relay);
		break;
	case RELAY_EVENT_MOUNT:
		relay_mount_event(relay);
		report_if_done(relay);
		break;
	default:
		relay->shares[event->data.u32].readable = true;
		break;
	}
}

/*
 * A small write that was answered, or a FORGET, waits an instant for the
 * request after it, which mostly is about the same file or the next one: one
 * wake-up of everybody for both. Where program, relay and server have two cores
 * between them, the server stops one of the others whenever it works; so it is
 * left alone until somebody has to wait for it anyway.
 */
static void hold_init(struct relay *relay)
{
	bool few = sysconf(_SC_NPROCESSORS_ONLN) <= FEW_CPUS;

	relay->hold_rounds = few ? HOLD_ROUNDS_FEW : HOLD_ROUNDS;
	relay->hold_bytes = few ? HOLD_BYTES_FEW : HOLD_BYTES;
}

static bool may_hold(const struct relay *relay)
{
	const struct stream_out *out = &relay->shared->out;

	return out->start != out->end &&
	       out->end - out->start < relay->hold_bytes && !relay->urgent &&
	       !relay->waits_for_port && !relay->preparing &&
	       !relay->finishing && !relay->pending.resend;
}

/* Who was asked last is most likely asked next. */
static bool pull_recent(void *ctx)
{
	struct relay *relay = ctx;
	unsigned recent = relay->recent;

	if (relay->shares[recent].state != RELAY_SHARE_MOUNTED)
		return false;
	relay->shares[recent].readable = true;
	relay->pulled = relay_fuse_pull(relay, recent);
	if (relay->pulled)
		relay->looked++;
	return relay->pulled;
}

static void rest(void *ctx)
{
	relay_fuse_rest(ctx);
}

static _Noreturn void pump(struct relay *relay)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned held = 0; /* rounds */

	for (;;) {
		struct spin_beside beside = {
			.rings = relay->rings.in ? &relay->rings.rings : NULL,
			.full = relay->waits_for_port,
			.take = pull_recent,
			.rest = rest,
			.ctx = relay,
		};
		bool some;
		int n;

		relay->pulled = false;
		relay_fuse_listen(relay);
		n = spin_wait(&relay->spin, relay->epoll_fd, events, EVENTS_MAX,
			      held ? HOLD_MS : -1, &beside);
		for (int i = 0; i < n; i++)
			dispatch(relay, &events[i]);
		some = relay_receive_ring(relay) || n > 0 || relay->pulled;
		/* Answers may have made room for what was left. */
		for (unsigned i = 0; i < relay->count; i++)
			relay_fuse_pull(relay, i);
		if (relay->call_due)
			relay_call_again(relay);
		held = some && held < relay->hold_rounds && may_hold(relay)
			       ? held + 1
			       : 0;
		if (!held)
			relay_send(relay);
		say_taken(relay);
		if (relay->finishing && !relay_mount_busy(relay) &&
		    !relay->pending.count)
			_exit(0);
	}
}

/* Nothing of PID 1's but these. */
static void keep_descriptors(struct relay *relay,
			     const struct relay_start *start)
{
	int fds[] = { start->port_fd, start->control_fd, start->log_fd };

	steady_keep(fds, ARRAY_SIZE(fds));
	relay->port_fd = fds[0];
	relay->control_fd = fds[1];
	log_to(fds[2]);
	relay->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	relay->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* A HELLO is perhaps the second one: then the server begins anew. */
static void begin(struct relay *relay, bool again)
{
	if (again && relay->shared->marker_count) {
		relay_call_begin(relay);
		return;
	}
	stream_out_raw(&relay->shared->out, "", 0);
	say_hello(relay);
}

_Noreturn void relay_run(const struct relay_start *start)
{
	struct relay *relay = xcalloc(1, sizeof(*relay));

	relay->shared = start->shared;
	/* What a predecessor had under way nobody will make. */
	relay->shared->made = relay->shared->early;
	relay->again = start->again;
	for (unsigned i = 0; i < WELCOME_SHARES_MAX; i++)
		relay->shares[i].fd = -1;
	keep_descriptors(relay, start);
	log_identity("bawn-relay", NULL);
	steady_begin("bawn-relay", FILES_MAX);
	/* What it needs to write out must not wait for it. */
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	stream_in_init(&relay->in, STREAM_IN_BYTES);
	spin_init(&relay->spin);
	hold_init(relay);
	relay_fuse_init(relay);
	relay_bulk_init(relay);
	relay_rings_init(relay);
	relay_mount_init(relay);
	if (relay->epoll_fd < 0 || pipe2(relay->ticket_fds, O_CLOEXEC) ||
	    relay_notify_start(relay) ||
	    relay_watch(relay, relay->ticket_fds[0], RELAY_EVENT_TICKET,
			EPOLLIN) ||
	    relay_watch(relay, relay->port_fd, RELAY_EVENT_PORT, EPOLLIN) ||
	    relay_watch(relay, relay->control_fd, RELAY_EVENT_CONTROL,
			EPOLLIN)) {
		log_error("%s", strerror(errno));
		_exit(1);
	}
	/*
	 * This thread alone. Whoever is answered would as soon run here as
	 * where it ran before: the scheduler compares how busy the two CPUs
	 * are. Each change between program and relay flushes what an emulator
	 * knows of memory, so let this CPU be the busier one.
	 */
	setpriority(PRIO_PROCESS, 0, NICE);
	begin(relay, start->again);
	relay_send(relay);
	pump(relay);
}
