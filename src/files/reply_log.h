/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply_log.h - answers to what must not be done twice
 *
 * A process that is killed takes answers along that it had not sent yet. The
 * guest sends those requests again, and a successor that made a folder a second
 * time would say EEXIST for one that the guest has just made. So such requests
 * are noted in the memory file that a successor gets: before they are done, and
 * with their answer afterwards. A ring: as many as the guest may have under
 * way.
 *
 * Pure. What a predecessor left is checked as far as it is used: where it came
 * from a guest that took it over, the guest gets its own bytes back.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REPLY_LOG_NOTES 4096
#define REPLY_LOG_BODY_MAX 144 /* CREATE: an entry and how it was opened */

enum reply_state {
	REPLY_NONE,
	REPLY_BEGUN, /* nobody knows whether it was done */
	REPLY_DONE,  /* `result` and `body` are its answer */

	REPLY_STATES,
};

struct reply_note {
	uint64_t unique, node, sum; /* which request: struct reply_key */
	uint64_t ino;               /* what lay at its name before; 0: none */
	uint32_t opcode;
	int32_t result; /* 0 or a negative errno */
	uint16_t len;
	uint8_t share;
	uint8_t state;
	uint8_t reserved[4];
	uint8_t body[REPLY_LOG_BODY_MAX];
};

/* In the memory file; zeros are an empty one. */
struct reply_ring {
	uint32_t next;
	uint32_t reserved;
	struct reply_note notes[REPLY_LOG_NOTES];
};

struct reply_key {
	uint64_t unique, node;
	uint64_t sum; /* of the names and whatever else tells it apart */
	uint32_t opcode;
	uint8_t share;
};

/* Where a predecessor's note was; something newer may be there now. */
struct reply_place {
	uint64_t unique;
	uint32_t slot;
};

struct reply_log {
	struct reply_ring *ring; /* borrowed */
	struct reply_place order[REPLY_LOG_NOTES];
	unsigned count;
};

/* What is in the ring is a predecessor's from now on. */
void reply_log_open(struct reply_log *log, struct reply_ring *ring);
/* A predecessor's note of this request; NULL: it never saw it. */
struct reply_note *reply_log_find(const struct reply_log *log,
				  const struct reply_key *key);
/* To be called before the request is done. */
struct reply_note *reply_log_begin(struct reply_log *log,
				   const struct reply_key *key, uint64_t ino);
/* An answer that is too long is not kept: the request is begun for ever. */
void reply_log_done(struct reply_note *note, int result, const void *body,
		    size_t len);
/* As if it had never been seen. */
void reply_log_drop(struct reply_note *note);
/* Its numbers begin anew. */
void reply_log_forget(struct reply_log *log, unsigned share);
