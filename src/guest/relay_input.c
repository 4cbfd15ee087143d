/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_input.c - bytes of the port and of the ring become records
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "guest/relay_internal.h"

#define PORT_READ_BYTES 4096 /* what one read of the port can give */
#define READS_PER_ROUND 64
#define LOST_MS 50

static void split(struct relay *relay)
{
	const uint8_t *payload;
	struct record record;

	while (stream_in_next(&relay->in, &record, &payload)) {
		if (relay_record(relay, &record, payload))
			continue;
		relay->in.deaf = true;
	}
}

/* The host's end is closed just now; it would be reported for ever. */
static void lost(void)
{
	struct timespec pause = { .tv_nsec = LOST_MS * 1000000L };

	nanosleep(&pause, NULL);
}

static void on_call(struct relay *relay, const uint8_t *bytes, size_t len)
{
	uint8_t marker[RECORD_MARKER_BYTES];

	if (!relay_call_answered(relay, bytes, len, marker))
		return;
	relay_note_marker(relay->shared, marker);
	relay_new_server(relay, marker);
}

/* What the port is read to. */
static struct stream_in *port_input(struct relay *relay)
{
	return relay->rings.in ? &relay->rings.ear : &relay->in;
}

bool relay_receive_ring(struct relay *relay)
{
	bool some = false;

	for (int i = 0; i < READS_PER_ROUND && relay->rings.in; i++) {
		size_t left;
		void *room = stream_in_room(&relay->in, &left);
		size_t n = relay_rings_read(relay, room, left);

		if (!n)
			break;
		some = true;
		stream_in_added(&relay->in, n, NULL, 0);
		split(relay);
		if (relay->in.deaf)
			relay_call_begin(relay);
	}
	return some;
}

/* These bytes came, to the place that the port's input had for them. */
static void use_input(struct relay *relay, const uint8_t *bytes, size_t len)
{
	struct stream_in *in = port_input(relay);
	bool fresh;

	if (relay->calling) {
		on_call(relay, bytes, len);
		return;
	}
	fresh = stream_in_added(in, len, relay->shared->markers,
				relay->shared->marker_count);
	if (in == &relay->in)
		split(relay);
	else if (!relay_rings_hear(relay))
		in->deaf = true;
	if (fresh) {
		uint8_t marker[RECORD_MARKER_BYTES];

		memcpy(marker, in->tail, sizeof(marker));
		/* What its predecessor has answered it need not do again. */
		relay_receive_ring(relay);
		relay_new_server(relay, marker);
	} else if (in->deaf) {
		relay_call_begin(relay);
	}
}

void relay_receive(struct relay *relay)
{
	for (int i = 0; i < READS_PER_ROUND; i++) {
		size_t left;
		void *room = stream_in_room(port_input(relay), &left);
		ssize_t n = read(relay->port_fd, room, left);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			lost();
			return;
		}
		use_input(relay, room, (size_t)n);
		if (n < PORT_READ_BYTES)
			return; /* most likely all; else epoll says so */
	}
}
