/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - records in, records out, both bounded
 */
#include "files/port_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "proto/cursor.h"

#define RECORD_MAX (RECORD_HEADER_BYTES + RECORD_PAYLOAD_MAX)
#define IN_BYTES (2 * RECORD_MAX)
#define OUT_BYTES (4 * RECORD_MAX)
#define FINISH_MS 1000
/* Of one ring of the bell; others want to have their turn. */
#define ROUNDS_MAX 64
/* Of what nobody has asked for: so many in a row, and bytes at once. */
#define PIECES_MAX 64
#define PIECES_PATIENT 8
#define PIECES_BYTES (32u << 10)
/* A piece so long leaves before the next one is made: both sides work. */
#define SOON_BYTES (256u << 10)

static void on_event(struct source *source, uint32_t events);
static void on_bell(struct source *source, uint32_t events);
static void flush(struct port *port);

void port_init(struct port *port, int fd)
{
	*port = (struct port){ .synchronised = true };
	port->source = (struct source){ .name = "files port",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_event };
	port->bell = (struct source){
		.name = "bell", .fd = -1, .events = EPOLLIN, .on_event = on_bell
	};
	port->in = xmalloc(IN_BYTES);
	port->out = xmalloc(OUT_BYTES);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void port_release(struct port *port)
{
	loop_del(&port->source);
	loop_del(&port->bell);
	free(port->in);
	free(port->out);
	if (port->to_guest)
		munmap(port->to_guest, BULK_BYTES);
	if (port->from_guest)
		munmap((void *)(uintptr_t)port->from_guest, BULK_BYTES);
}

static int map(int fd, int rights, uint8_t **memory, struct error *err)
{
	void *mapped;

	if (fd < 0)
		return 0;
	mapped = mmap(NULL, BULK_BYTES, rights, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_set(err, errno, "memory of the port");
	*memory = mapped;
	return 0;
}

int port_map(struct port *port, int to_guest, int from_guest, struct error *err)
{
	uint8_t *from = NULL;

	if (map(to_guest, PROT_READ | PROT_WRITE, &port->to_guest, err) < 0 ||
	    map(from_guest, PROT_READ, &from, err) < 0)
		return -1;
	port->from_guest = from;
	return 0;
}

void port_use_bulk(struct port *port, bool reads)
{
	port->reads_bulk = reads && port->to_guest;
	bulk_reset(&port->bulk);
}

void port_expect_marker(struct port *port,
			const uint8_t marker[RECORD_MARKER_BYTES])
{
	size_t left, back = 0;

	memcpy(port->marker, marker, RECORD_MARKER_BYTES);
	for (size_t i = 1; i < RECORD_MARKER_BYTES; i++) {
		while (back && marker[i] != marker[back])
			back = port->marker_back[back - 1];
		if (marker[i] == marker[back])
			back++;
		port->marker_back[i] = (uint8_t)back;
	}
	port->synchronised = false;
	memcpy(port_room(port, &left), marker, RECORD_MARKER_BYTES);
	port_commit(port, RECORD_MARKER_BYTES);
}

void *port_room(struct port *port, size_t *left)
{
	size_t end = port->out_start + port->out_len;

	port->direct = false;
	*left = OUT_BYTES - end;
	return port->out + end;
}

/* A record for what lies in the memory. */
static size_t put_piece(uint8_t *bytes, uint32_t start, size_t len)
{
	struct record record = { .type = RECORD_BULK,
				 .len = RECORD_BULK_BYTES };
	struct writer w =
		writer_over(bytes + RECORD_HEADER_BYTES, RECORD_BULK_BYTES);

	record_encode(&record, bytes);
	writer_u32(&w, start);
	writer_u32(&w, (uint32_t)len);
	return RECORD_HEADER_BYTES + RECORD_BULK_BYTES;
}

void port_commit(struct port *port, size_t len)
{
	uint8_t *end = port->out + port->out_start + port->out_len;

	if (port->direct && len > BULK_WORTH) {
		uint32_t start = bulk_take(&port->bulk, (uint32_t)len);

		port->out_len += put_piece(end, start, len);
		port->direct = false;
		if (len >= SOON_BYTES)
			flush(port);
		return;
	}
	/* It came out shorter than it might have been. */
	if (port->direct)
		memcpy(end, port->to_guest + bulk_next(&port->bulk), len);
	port->direct = false;
	port->out_len += len;
	port->fresh += len;
}

static void give_up(struct port *port, const char *why)
{
	loop_del(&port->source);
	loop_del(&port->bell);
	port->why = why;
	port->on_end(port->ctx);
}

/* As many whole records as fit; at least one does, or 0. */
static size_t whole_records(const uint8_t *bytes, size_t len, size_t room)
{
	struct record record;
	size_t at = 0;

	if (len <= room)
		return len;
	while (at < len && record_decode(bytes + at, &record) == 0 &&
	       at + RECORD_HEADER_BYTES + record.len <= room)
		at += RECORD_HEADER_BYTES + record.len;
	return at;
}

/* What was committed since the last write becomes short, where it is worth it.
 */
static void shorten(struct port *port)
{
	uint8_t *fresh =
		port->out + port->out_start + port->out_len - port->fresh;
	size_t len = port->fresh, put;
	uint32_t start;

	port->fresh = 0;
	if (!port->reads_bulk || len <= BULK_WORTH)
		return;
	len = whole_records(fresh, len, bulk_room(&port->bulk));
	if (len <= BULK_WORTH)
		return;
	start = bulk_take(&port->bulk, (uint32_t)len);
	memcpy(port->to_guest + start, fresh, len);
	put = put_piece(fresh, start, len);
	fresh += put;
	len -= put;
	/* What did not fit follows. */
	memmove(fresh, fresh + len,
		(size_t)(port->out + port->out_start + port->out_len - fresh) -
			len);
	port->out_len -= len;
}

void *port_room_for(struct port *port, size_t most, size_t *left)
{
	if (!port->reads_bulk || most <= BULK_WORTH)
		return port_room(port, left);
	/* What was committed comes first. */
	shorten(port);
	if (bulk_room(&port->bulk) < most)
		return port_room(port, left);
	port->direct = true;
	*left = most;
	return port->to_guest + bulk_next(&port->bulk);
}

/* As write(); where the rings are full, too. */
static ssize_t write_some(struct port *port)
{
	const uint8_t *bytes = port->out + port->out_start;
	size_t len = port->rings_out ? port->before : port->out_len;

	if (len || !port->rings_out)
		return write(port->source.fd, bytes, len);
	len = port_rings_write(port, bytes, port->out_len);
	errno = EAGAIN;
	return len ? (ssize_t)len : -1;
}

static void flush(struct port *port)
{
	shorten(port);
	while (port->out_len) {
		ssize_t n = write_some(port);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* Nobody reads it any more; the next read says so too. */
		if (n < 0) {
			port->out_len = port->before = 0;
			break;
		}
		port->out_start += (size_t)n;
		port->out_len -= (size_t)n;
		if (port->before)
			port->before -= (size_t)n;
	}
	if (!port->out_len)
		port->out_start = 0;
}

static bool has_room(const struct port *port)
{
	return OUT_BYTES - port->out_start - port->out_len >= RECORD_MAX;
}

static void make_room(struct port *port)
{
	if (!port->out_start || has_room(port))
		return;
	memmove(port->out, port->out + port->out_start, port->out_len);
	port->out_start = 0;
}

/* A new relay does not know the marker. Nothing but this is sent meanwhile. */
static void hear_calls(struct port *port)
{
	size_t left;
	uint8_t *room = port_room(port, &left);

	if (!call_hear(&port->ear, port->in, port->in_len) ||
	    left < CALL_ANSWER_BYTES)
		return;
	call_answer(&port->ear, port->marker, room);
	port_commit(port, CALL_ANSWER_BYTES);
}

/* Consumes input up to the end of the marker. */
static size_t find_marker(struct port *port)
{
	for (size_t i = 0; i < port->in_len; i++) {
		while (port->marker_seen &&
		       port->in[i] != port->marker[port->marker_seen])
			port->marker_seen =
				port->marker_back[port->marker_seen - 1];
		if (port->in[i] == port->marker[port->marker_seen])
			port->marker_seen++;
		if (port->marker_seen == RECORD_MARKER_BYTES) {
			port->synchronised = true;
			return i + 1;
		}
	}
	hear_calls(port);
	return port->in_len;
}

/*
 * Hands over what is complete. 1: there is more, but no room for answers; -1:
 * the channel was given up.
 */
static int hand_over(struct port *port)
{
	size_t done = port->synchronised ? 0 : find_marker(port);
	bool waits = false;
	struct record record;

	while (port->synchronised &&
	       port->in_len - done >= RECORD_HEADER_BYTES) {
		const uint8_t *head = port->in + done;

		waits = !has_room(port);
		if (waits)
			break;
		if (record_decode(head, &record) < 0) {
			give_up(port, "not a record");
			return -1;
		}
		if (port->in_len - done - RECORD_HEADER_BYTES < record.len)
			break;
		if (port->on_record(port->ctx, &record,
				    head + RECORD_HEADER_BYTES) < 0) {
			give_up(port, "a record that makes no sense");
			return -1;
		}
		done += RECORD_HEADER_BYTES + record.len;
	}
	port->in_len -= done;
	if (done)
		memmove(port->in, port->in + done, port->in_len);
	port->waits = waits;
	return waits;
}

/* False: the other side is gone. */
static bool fill(struct port *port)
{
	ssize_t n;

	if (port->in_len == IN_BYTES)
		return true;
	n = read(port->source.fd, port->in + port->in_len,
		 IN_BYTES - port->in_len);
	if (n > 0)
		port->in_len += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void port_kick(struct port *port)
{
	flush(port);
	make_room(port);
	/* The bell tells of room in the rings, and so of that for answers. */
	if (port->rings_in) {
		loop_wait_for(&port->source,
			      EPOLLIN | (port->before ? EPOLLOUT : 0U));
		return;
	}
	/* No other event comes for input that is here already. */
	loop_wait_for(&port->source,
		      (port->out_len || port->waits ? EPOLLOUT : 0U) |
			      (has_room(port) ? EPOLLIN : 0U));
}

void port_finish(struct port *port)
{
	struct pollfd ready = { .fd = port->source.fd, .events = POLLOUT };

	flush(port);
	while (port->out_len) {
		if (port->rings_out && !port->before)
			ready = (struct pollfd){ .fd = port->bell.fd,
						 .events = POLLIN };
		if (poll(&ready, 1, FINISH_MS) <= 0)
			return;
		port_rings_hear(port);
		flush(port);
	}
}

/* As hand_over(); what came of it leaves. */
static int take_turn(struct port *port)
{
	int more = hand_over(port);

	if (more < 0)
		return more;
	if (port->on_room)
		port->on_room(port->ctx);
	port_kick(port);
	return more;
}

/* All that comes is in the ring: here is another relay, or the end. */
static void watch_port(struct port *port, uint32_t events)
{
	if (!fill(port))
		give_up(port, NULL);
	else if (events & EPOLLIN)
		give_up(port, "more beside its ring");
	else
		port_kick(port);
}

static bool somebody_asks(const struct port *port)
{
	return port->rings_in && rings_ready(&port->rings);
}

/*
 * What is best done while nobody waits, piece by piece; but some of them in any
 * case, because not all who ask do wait. Who reads it is woken for some at
 * once. True: there is more of it.
 */
static bool use_time(struct port *port)
{
	bool more = port->on_idle && port->synchronised;
	int least = port->patient ? PIECES_PATIENT : 1;

	for (int i = 0; more && i < PIECES_MAX && has_room(port) &&
			(i < least || !somebody_asks(port));
	     i++) {
		more = port->on_idle(port->ctx);
		if (port->fresh >= PIECES_BYTES)
			port_kick(port);
	}
	port_kick(port);
	return more;
}

static void on_event(struct source *source, uint32_t events)
{
	struct port *port = CONTAINER_OF(source, struct port, source);
	int more;

	if (events & EPOLLOUT)
		flush(port);
	if (port->rings_in) {
		watch_port(port, events);
		return;
	}
	make_room(port);
	if (has_room(port) && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) &&
	    !fill(port)) {
		give_up(port, NULL);
		return;
	}
	do {
		more = take_turn(port);
		if (more < 0)
			return;
	} while (more && has_room(port));
	if (port->rings_in && port->in_len)
		give_up(port, "more beside its ring");
	else
		use_time(port);
}

static void on_bell(struct source *source, uint32_t events)
{
	struct port *port = CONTAINER_OF(source, struct port, bell);
	bool later = false;
	int more = 0;
	long n;

	port_rings_hear(port);
	if (!port->rings_in)
		return;
	/* Nobody has to ring while we look ourselves. */
	rings_sleep(&port->rings, RINGS_AWAKE);
	flush(port);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		make_room(port);
		n = port_rings_read(port, port->in + port->in_len,
				    IN_BYTES - port->in_len);
		if (n < 0) {
			give_up(port, "a ring that cannot be");
			return;
		}
		port->in_len += (size_t)n;
		more = take_turn(port);
		if (more < 0)
			return;
		later = use_time(port);
		if (more ? !has_room(port) : !rings_ready(&port->rings))
			break;
	}
	rings_sleep(&port->rings,
		    port->out_len ? RINGS_FOR_ROOM : RINGS_FOR_BYTES);
	if ((more || later || rings_ready(&port->rings)) && has_room(port))
		port_rings_ring(port);
	else if (port->out_len)
		flush(port);
}

int port_start(struct port *port, struct loop *loop, struct error *err)
{
	if (loop_add(loop, &port->source, err) < 0 ||
	    (port->bell.fd >= 0 && loop_add(loop, &port->bell, err) < 0))
		return error_prefix(err, "files port");
	port_kick(port);
	return 0;
}
