/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_rings.c - the port's bytes in rings, and the bell (proto/rings.h)
 */
#include "files/port_internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "proto/cursor.h"

int port_map_rings(struct port *port, int rings, int bell, struct error *err)
{
	void *memory;

	if (rings < 0 || bell < 0)
		return 0;
	memory = mmap(NULL, RINGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      rings, 0);
	if (memory == MAP_FAILED)
		return error_set(err, errno, "rings of the port");
	rings_init(&port->rings, RINGS_HOST, memory);
	port->bell.fd = bell;
	return 0;
}

void port_rings_hear(struct port *port)
{
	uint64_t times;

	if (read(port->bell.fd, &times, sizeof(times)) < 0)
		return;
}

void port_rings_ring(struct port *port)
{
	const uint64_t once = 1;

	if (write(port->bell.fd, &once, sizeof(once)) < 0)
		return;
}

void port_use_rings(struct port *port)
{
	struct record record = { .type = RECORD_RINGS,
				 .len = RECORD_RINGS_BYTES };
	struct writer w;
	uint8_t *room;
	size_t left;

	if (!port->rings.mine)
		return;
	room = port_room(port, &left);
	record_encode(&record, room);
	w = writer_over(room + RECORD_HEADER_BYTES, RECORD_RINGS_BYTES);
	writer_u32(&w, rings_begin_out(&port->rings));
	port_commit(port, RECORD_HEADER_BYTES + RECORD_RINGS_BYTES);
	port->before = port->out_len;
	port->fresh = 0;
	port->rings_out = true;
	rings_sleep(&port->rings, RINGS_FOR_BYTES);
}

int port_rings_begin(struct port *port, const uint8_t *payload, size_t len)
{
	uint32_t start;

	if (!port->rings_out || port->rings_in ||
	    record_rings_decode(payload, len, &start) < 0)
		return -1;
	rings_begin_in(&port->rings, start);
	port->rings_in = true;
	/* Perhaps it has rung before. */
	port_rings_ring(port);
	return 0;
}

/* Nothing else goes through the port then. If it is full, somebody is to read
 * it anyway. */
static void wake(struct port *port, enum rings_sleep what)
{
	struct record record = { .type = RECORD_WAKE };
	uint8_t bytes[RECORD_HEADER_BYTES];

	if (!port->rings_out || port->before ||
	    !rings_must_wake(&port->rings, what))
		return;
	record_encode(&record, bytes);
	if (write(port->source.fd, bytes, sizeof(bytes)) < 0)
		return;
}

size_t port_rings_write(struct port *port, const uint8_t *bytes, size_t len)
{
	size_t n = rings_write(&port->rings, bytes, len);

	/* We are told when some was read, or see it now. */
	if (!n) {
		rings_sleep(&port->rings, RINGS_FOR_ROOM);
		n = rings_write(&port->rings, bytes, len);
	}
	if (n)
		wake(port, RINGS_FOR_BYTES);
	return n;
}

long port_rings_read(struct port *port, void *room, size_t left)
{
	long n = rings_read(&port->rings, room, left);

	if (n > 0)
		wake(port, RINGS_FOR_ROOM);
	return n;
}
