/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_bulk.c - what does not pass through the port (proto/bulk.h)
 *
 * From the host come whole records; the data of large writes goes there. The
 * kernel cannot take an answer from memory that is a device's, so it is copied
 * once; that is little beside the port's way.
 */
#include <linux/fuse.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "guest/pci_memory.h"
#include "guest/relay_internal.h"
#include "guest/word_copy.h"
#include "proto/cursor.h"

/* The host must not wait for what was read: then it is told by itself. */
#define TELL_BYTES (BULK_BYTES / 8)
#define TELL_PIECES (BULK_PIECES / 4)

void relay_bulk_init(struct relay *relay)
{
	struct relay_bulk *bulk = &relay->bulk;

	bulk->to_guest =
		pci_memory_map(BULK_TO_GUEST_DEVICE, BULK_BYTES, PROT_READ);
	bulk->from_guest = pci_memory_map(BULK_FROM_GUEST_DEVICE, BULK_BYTES,
					  PROT_READ | PROT_WRITE);
	if (bulk->to_guest)
		bulk->answer = xmalloc(RECORD_PAYLOAD_MAX);
}

void relay_bulk_reset(struct relay *relay)
{
	relay->bulk.read_pieces = relay->bulk.read_bytes = 0;
	bulk_reset(&relay->bulk.out);
}

uint32_t relay_bulk_features(const struct relay *relay)
{
	return (relay->bulk.to_guest ? RECORD_READS_BULK : 0U) |
	       (relay->bulk.from_guest ? RECORD_WRITES_BULK : 0U);
}

bool relay_bulk_receive(struct relay *relay, const uint8_t *bytes, size_t len,
			relay_record_fn *on_record)
{
	struct relay_bulk *bulk = &relay->bulk;
	struct record_piece piece;
	const uint8_t *at, *end;
	struct record record;

	if (!bulk->to_guest || record_piece_decode(bytes, len, &piece) < 0)
		return false;
	at = bulk->to_guest + piece.start;
	for (end = at + piece.len; at < end; at += record.len) {
		const uint8_t *payload = at + RECORD_HEADER_BYTES;

		if (end - at < RECORD_HEADER_BYTES ||
		    record_decode(at, &record) < 0 ||
		    record.len > end - payload || record.type == RECORD_BULK)
			return false;
		at = payload;
		if (record.type == RECORD_FUSE) {
			word_copy(bulk->answer, payload, record.len);
			payload = bulk->answer;
		}
		if (!on_record(relay, &record, payload))
			return false;
	}
	bulk->read_pieces++;
	bulk->read_bytes += piece.len;
	return true;
}

void relay_bulk_tell(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	struct relay_bulk *bulk = &relay->bulk;
	uint8_t *room;
	struct writer w;

	/* Best with something that goes there anyway. */
	if (!bulk->read_pieces || !relay->connected ||
	    (out->start == out->end && bulk->read_bytes < TELL_BYTES &&
	     bulk->read_pieces < TELL_PIECES))
		return;
	room = stream_out_room(out);
	if (!room)
		return;
	w = writer_over(room + RECORD_HEADER_BYTES, RECORD_READ_BYTES);
	writer_u32(&w, bulk->read_pieces);
	stream_out_commit(out, RECORD_BULK, 0, writer_len(&w));
	bulk->read_pieces = bulk->read_bytes = 0;
}

static bool is_worth_it(const struct relay *relay,
			const struct pending *pending)
{
	return relay->bulk.from_guest && pending->opcode == FUSE_WRITE &&
	       pending->len > RELAY_WRITE_HEAD + BULK_WORTH;
}

bool relay_bulk_send(struct relay *relay, struct pending *pending,
		     uint8_t *room)
{
	struct relay_bulk *bulk = &relay->bulk;
	uint32_t len = pending->len - (uint32_t)RELAY_WRITE_HEAD;
	struct writer w = writer_over(room + RECORD_HEADER_BYTES,
				      RECORD_BULK_BYTES + RELAY_WRITE_HEAD);

	pending->in_bulk = false;
	if (pending->promised) {
		relay_make_send(relay, pending, room + RECORD_HEADER_BYTES);
		return true;
	}
	if (!is_worth_it(relay, pending)) {
		memcpy(room + RECORD_HEADER_BYTES, pending->bytes,
		       pending->len);
		stream_out_commit(&relay->shared->out, RECORD_FUSE,
				  pending->share, pending->len);
		return true;
	}
	if (bulk_room(&bulk->out) < len)
		return false;
	pending->in_bulk = true;
	pending->bulk_start = bulk_take(&bulk->out, len);
	word_copy(bulk->from_guest + pending->bulk_start,
		  pending->bytes + RELAY_WRITE_HEAD, len);
	writer_u32(&w, pending->bulk_start);
	writer_u32(&w, len);
	writer_bytes(&w, pending->bytes, RELAY_WRITE_HEAD);
	stream_out_commit(&relay->shared->out, RECORD_WRITE, pending->share,
			  writer_len(&w));
	return true;
}

void relay_bulk_answered(struct relay *relay, const struct pending *pending)
{
	if (pending->in_bulk)
		bulk_read_one(&relay->bulk.out, pending->bulk_start);
}
