/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_rings.c - the port's bytes in memory, and the bell (proto/rings.h)
 *
 * The port stays open all the time: a server that waits for a sleeper wakes it
 * there, and the next server begins there. What comes through it meanwhile is
 * listened to apart from the records in the ring.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/pci_memory.h"
#include "guest/relay_internal.h"
#include "proto/cursor.h"

/* One read of the port, and what was left of the one before. */
#define EAR_BYTES (16U << 10)

void relay_rings_init(struct relay *relay)
{
	struct relay_rings *own = &relay->rings;
	void *memory = pci_memory_map(RINGS_DEVICE, RINGS_BYTES,
				      PROT_READ | PROT_WRITE);

	stream_in_init(&own->ear, EAR_BYTES);
	if (memory && pci_bell_open(RINGS_DEVICE))
		rings_init(&own->rings, RINGS_GUEST, memory);
}

uint32_t relay_rings_features(const struct relay *relay)
{
	return relay->rings.rings.mine ? RECORD_HAS_RINGS : 0U;
}

void relay_rings_reset(struct relay *relay)
{
	struct relay_rings *own = &relay->rings;

	/* The port was not asked for room as long as the ring was full. */
	if (own->out)
		relay->waits_for_port = false;
	own->in = own->out = own->offered = false;
}

bool relay_rings_offer(struct relay *relay, const uint8_t *bytes, size_t len)
{
	struct relay_rings *own = &relay->rings;
	uint32_t start;

	if (!own->rings.mine || own->in ||
	    record_rings_decode(bytes, len, &start) < 0)
		return false;
	rings_begin_in(&own->rings, start);
	own->in = own->offered = true;
	stream_in_hand_on(&relay->in, &own->ear);
	return true;
}

bool relay_rings_enter(struct relay *relay)
{
	struct relay_rings *own = &relay->rings;
	struct record record = { .type = RECORD_RINGS,
				 .len = RECORD_RINGS_BYTES };
	uint8_t bytes[RECORD_HEADER_BYTES + RECORD_RINGS_BYTES];
	struct writer w =
		writer_over(bytes + RECORD_HEADER_BYTES, RECORD_RINGS_BYTES);

	if (!own->offered)
		return true;
	record_encode(&record, bytes);
	writer_u32(&w, rings_begin_out(&own->rings));
	/* The driver takes all of it, or nothing. */
	if (write(relay->port_fd, bytes, sizeof(bytes)) < 0)
		return false;
	own->offered = false;
	own->out = true;
	return true;
}

static void ring_for(struct relay_rings *own, enum rings_sleep what)
{
	if (rings_must_wake(&own->rings, what))
		pci_bell_ring(RINGS_BELL_PEER);
}

size_t relay_rings_write(struct relay *relay, const uint8_t *bytes, size_t len)
{
	struct relay_rings *own = &relay->rings;

	len = rings_write(&own->rings, bytes, len);
	own->due |= len != 0;
	return len;
}

void relay_rings_announce(struct relay *relay)
{
	if (relay->rings.due)
		ring_for(&relay->rings, RINGS_FOR_BYTES);
	relay->rings.due = false;
}

size_t relay_rings_read(struct relay *relay, void *room, size_t left)
{
	struct relay_rings *own = &relay->rings;
	long n = rings_read(&own->rings, room, left);

	/* Other memory: the machine was restored, a marker will come. */
	if (n < 0) {
		relay_rings_reset(relay);
		return 0;
	}
	if (n)
		ring_for(own, RINGS_FOR_ROOM);
	return (size_t)n;
}

/* False: there was something else than wake-ups. */
bool relay_rings_hear(struct relay *relay)
{
	struct stream_in *ear = &relay->rings.ear;
	const uint8_t *payload;
	struct record record;

	while (stream_in_next(ear, &record, &payload)) {
		if (record.type != RECORD_WAKE || record.len)
			return false;
	}
	return !ear->deaf &&
	       ear->len - ear->done - ear->held < RECORD_HEADER_BYTES;
}
