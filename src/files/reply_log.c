/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply_log.c - answers to what must not be done twice
 *
 * The process may be killed between any two stores, so the state is stored
 * last, and is REPLY_NONE while the rest changes.
 */
#include "files/reply_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void set_state(struct reply_note *note, enum reply_state state)
{
	__atomic_store_n(&note->state, (uint8_t)state, __ATOMIC_SEQ_CST);
}

static int compare(const void *a, const void *b)
{
	const struct reply_place *one = a, *two = b;

	return one->unique < two->unique ? -1 : one->unique > two->unique;
}

void reply_log_open(struct reply_log *log, struct reply_ring *ring)
{
	log->ring = ring;
	log->count = 0;
	for (unsigned i = 0; i < REPLY_LOG_NOTES; i++) {
		struct reply_note *note = &ring->notes[i];

		if (note->state >= REPLY_STATES ||
		    note->len > REPLY_LOG_BODY_MAX || note->result > 0 ||
		    note->result < -4095)
			set_state(note, REPLY_NONE);
		if (note->state != REPLY_NONE)
			log->order[log->count++] =
				(struct reply_place){ note->unique, i };
	}
	qsort(log->order, log->count, sizeof(log->order[0]), compare);
}

static bool is_of(const struct reply_note *note, const struct reply_key *key)
{
	return note->state != REPLY_NONE && note->unique == key->unique &&
	       note->share == key->share && note->opcode == key->opcode &&
	       note->node == key->node && note->sum == key->sum;
}

struct reply_note *reply_log_find(const struct reply_log *log,
				  const struct reply_key *key)
{
	unsigned from = 0, to = log->count;

	while (from < to) {
		unsigned middle = from + (to - from) / 2;

		if (log->order[middle].unique < key->unique)
			from = middle + 1;
		else
			to = middle;
	}
	/* Each share counts by itself. */
	for (; from < log->count && log->order[from].unique == key->unique;
	     from++) {
		struct reply_note *note =
			&log->ring->notes[log->order[from].slot];

		if (is_of(note, key))
			return note;
	}
	return NULL;
}

struct reply_note *reply_log_begin(struct reply_log *log,
				   const struct reply_key *key, uint64_t ino)
{
	struct reply_ring *ring = log->ring;
	struct reply_note *note = &ring->notes[ring->next % REPLY_LOG_NOTES];

	ring->next = (ring->next + 1) % REPLY_LOG_NOTES;
	set_state(note, REPLY_NONE);
	note->unique = key->unique;
	note->node = key->node;
	note->sum = key->sum;
	note->opcode = key->opcode;
	note->share = key->share;
	note->ino = ino;
	note->result = 0;
	note->len = 0;
	set_state(note, REPLY_BEGUN);
	return note;
}

void reply_log_done(struct reply_note *note, int result, const void *body,
		    size_t len)
{
	if (len > sizeof(note->body))
		return;
	note->result = result;
	note->len = (uint16_t)len;
	memcpy(note->body, body, len);
	set_state(note, REPLY_DONE);
}

void reply_log_drop(struct reply_note *note)
{
	set_state(note, REPLY_NONE);
}

void reply_log_forget(struct reply_log *log, unsigned share)
{
	for (unsigned i = 0; i < REPLY_LOG_NOTES; i++) {
		if (log->ring->notes[i].share == share)
			set_state(&log->ring->notes[i], REPLY_NONE);
	}
}
