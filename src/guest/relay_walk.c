/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_walk.c - walks through trees, answered from what was sent ahead
 */
#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "guest/relay_internal.h"
#include "proto/cursor.h"

#define LISTING_HEAD_BYTES 24U
/* A page is what a kernel asks for, and some ask for more. */
#define LISTING_KEPT_MAX (32U << 10)

/* Is something under way that may change what the listing says? */
static bool is_changing(struct relay *relay, unsigned share,
			const uint8_t *bytes, size_t len)
{
	LIST_FOR_EACH(at, &relay->pending.order) {
		const struct pending *pending =
			LIST_ENTRY(at, struct pending, order);
		uint64_t nodes[2];

		if (pending->share == share &&
		    ahead_changed_nodes(pending->bytes, pending->len, nodes) &&
		    (listing_tells_of(bytes, len, nodes[0]) ||
		     (nodes[1] && listing_tells_of(bytes, len, nodes[1]))))
			return true;
	}
	return false;
}

bool relay_walk_take(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len)
{
	bool wanted = relay->pending.count <= RELAY_AHEAD_PENDING_MAX &&
		      !is_changing(relay, share, bytes, len);

	return listings_add(&relay->listings, share, bytes, len, wanted);
}

static uint64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec;
}

void relay_walk_answered(struct relay *relay, const struct pending *pending,
			 const uint8_t *body, size_t len)
{
	/* Of the loop alone; on the stack it would be cleared each time. */
	static uint8_t payload[LISTING_HEAD_BYTES + LISTING_KEPT_MAX];
	struct writer w = writer_over(payload, sizeof(payload));
	struct fuse_read_in in;

	if (pending->len != sizeof(struct fuse_in_header) + sizeof(in) ||
	    !len || len > LISTING_KEPT_MAX ||
	    relay->pending.count > RELAY_AHEAD_PENDING_MAX)
		return;
	memcpy(&in, pending->bytes + sizeof(struct fuse_in_header), sizeof(in));
	if (in.offset)
		return;
	writer_u32(&w, FUSE_READDIRPLUS);
	writer_u32(&w, 0); /* whether it is whole nobody has said */
	writer_u64(&w, pending->node);
	writer_u64(&w, 0);
	writer_bytes(&w, body, len);
	if (!is_changing(relay, pending->share, payload, writer_len(&w)))
		listings_keep(&relay->listings, pending->share, payload,
			      writer_len(&w), now_s());
}

bool relay_walk_list(struct relay *relay, unsigned share, const uint8_t *bytes,
		     size_t len)
{
	struct fuse_in_header in;
	struct fuse_out_header head = { 0 };
	const uint8_t *found;
	uint64_t now = now_s();
	struct iovec iov[2];
	size_t found_len;
	bool taken;

	if (!listings_find(&relay->listings, share, bytes, len, now, &found,
			   &found_len))
		return false;
	memcpy(&in, bytes, sizeof(in));
	head.unique = in.unique;
	head.len = (uint32_t)(sizeof(head) + found_len);
	iov[0] = (struct iovec){ &head, sizeof(head) };
	iov[1] = (struct iovec){ (void *)(uintptr_t)found, found_len };
	taken = writev(relay->shares[share].fd, iov, 2) >= 0;
	if (!taken)
		log_limited(LOG_LEVEL_DEBUG, "answer: %s", strerror(errno));
	listings_given(&relay->listings, share, in.nodeid, now, taken);
	return true;
}

/* The kernel did not wait for the node that it was to get. */
static void forget_one(struct relay *relay, unsigned share, uint64_t node)
{
	struct stream_out *out = &relay->shared->out;
	uint8_t *room = stream_out_room(out);
	struct {
		struct fuse_in_header head;
		struct fuse_forget_in in;
	} request = { .head = { .len = sizeof(request),
				.opcode = FUSE_FORGET,
				.nodeid = node },
		      .in = { .nlookup = 1 } };

	if (!room)
		return; /* one count too many keeps a node, no more */
	memcpy(room + RECORD_HEADER_BYTES, &request, sizeof(request));
	stream_out_commit(out, RECORD_FUSE, share, sizeof(request));
}

bool relay_walk_lookup(struct relay *relay, unsigned share,
		       const uint8_t *bytes, size_t len)
{
	struct {
		struct fuse_out_header head;
		struct fuse_entry_out entry;
	} reply = { .head = { .len = sizeof(reply) } };
	struct fuse_in_header in;

	/* The notifier must find what its ticket says. */
	memcpy(&in, bytes, sizeof(in));
	if (in.pid == relay->notifier.thread ||
	    listings_lookup(&relay->listings, share, bytes, len,
			    &reply.entry) == LISTING_UNKNOWN)
		return false;
	reply.head.unique = in.unique;
	if (write(relay->shares[share].fd, &reply, sizeof(reply)) < 0 &&
	    reply.entry.nodeid)
		forget_one(relay, share, reply.entry.nodeid);
	return true;
}

/* Those of one share. */
static bool tell_used(struct relay *relay)
{
	struct listings *listings = &relay->listings;
	struct stream_out *out = &relay->shared->out;
	unsigned share = listings->used[0].share, left = 0;
	uint8_t *room = stream_out_room(out);
	struct writer w;

	if (!room)
		return false;
	w = writer_over(room + RECORD_HEADER_BYTES,
			LISTING_USED_MAX * sizeof(uint64_t));
	for (unsigned i = 0; i < listings->used_count; i++) {
		const struct listing_used *used = &listings->used[i];

		if (used->share == share)
			writer_u64(&w, used->node);
		else
			listings->used[left++] = *used;
	}
	listings->used_count = left;
	stream_out_commit(out, RECORD_AHEAD, share, writer_len(&w));
	return true;
}

void relay_walk_tell(struct relay *relay)
{
	struct stream_out *out = &relay->shared->out;
	unsigned share = 0;

	if (!relay->connected)
		return;
	while (!list_empty(&relay->listings.owed)) {
		uint8_t *room = stream_out_room(out);
		size_t len;

		if (!room)
			return;
		len = listings_forget(&relay->listings,
				      room + RECORD_HEADER_BYTES,
				      RECORD_PAYLOAD_MAX, &share);
		if (len)
			stream_out_commit(out, RECORD_FUSE, share, len);
	}
	/* Best with something that goes there anyway. */
	while (relay->listings.used_count &&
	       (out->start != out->end ||
		relay->listings.used_count >= LISTING_TELL) &&
	       tell_used(relay))
		;
}
