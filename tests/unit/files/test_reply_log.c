/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reply_log.c - answers to what must not be done twice
 */
#include "files/reply_log.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/tap.h"

static struct reply_ring *ring;
static struct reply_log *notes;

static struct reply_key key_of(uint64_t unique)
{
	return (struct reply_key){ .unique = unique,
				   .node = 1,
				   .sum = unique * 7,
				   .opcode = FUSE_MKDIR,
				   .share = 3 };
}

static struct reply_note *begin(uint64_t unique)
{
	struct reply_key key = key_of(unique);

	return reply_log_begin(notes, &key, 0);
}

static struct reply_note *find(uint64_t unique)
{
	struct reply_key key = key_of(unique);

	return reply_log_find(notes, &key);
}

static void anew(void)
{
	memset(ring, 0, sizeof(*ring));
	reply_log_open(notes, ring);
}

static void a_successor_finds_what_was_begun_and_what_was_done(void)
{
	struct reply_note *note;

	anew();
	begin(2);
	reply_log_done(begin(4), 0, "body", 4);
	reply_log_done(begin(6), -17, "", 0);
	CHECK(!find(4)); /* its own ones nobody asks for */
	reply_log_open(notes, ring);
	note = find(2);
	CHECK(note && note->state == REPLY_BEGUN);
	note = find(4);
	CHECK(note && note->state == REPLY_DONE && note->len == 4 &&
	      !memcmp(note->body, "body", 4) && note->result == 0);
	note = find(6);
	CHECK(note && note->result == -17 && note->len == 0);
	CHECK(!find(8));
}

static void another_request_of_the_same_number_is_not_it(void)
{
	struct reply_key key = key_of(4);

	anew();
	reply_log_done(begin(4), 0, "", 0);
	reply_log_open(notes, ring);
	CHECK(reply_log_find(notes, &key));
	key.sum++;
	CHECK(!reply_log_find(notes, &key));
	key = key_of(4);
	key.share++;
	CHECK(!reply_log_find(notes, &key));
	key = key_of(4);
	key.opcode = FUSE_UNLINK;
	CHECK(!reply_log_find(notes, &key));
	key = key_of(4);
	key.node++;
	CHECK(!reply_log_find(notes, &key));
	reply_log_forget(notes, 3);
	CHECK(!find(4));
}

static void the_oldest_go_first_also_while_they_are_asked_for(void)
{
	anew();
	for (uint64_t i = 1; i <= REPLY_LOG_NOTES + 10; i++)
		reply_log_done(begin(i * 2), 0, "", 0);
	reply_log_open(notes, ring);
	CHECK(!find(20) && find(22) && find((REPLY_LOG_NOTES + 10) * 2));
	/* New ones take their places, and what is left is still found. */
	for (uint64_t i = 1; i <= 100; i++)
		begin(1000000 + i * 2);
	CHECK(!find(22) && !find(220) && find(222));
}

static void what_makes_no_sense_is_nothing(void)
{
	anew();
	begin(2)->state = REPLY_STATES;
	begin(4)->len = REPLY_LOG_BODY_MAX + 1;
	begin(6)->result = 5;
	reply_log_done(begin(8), 0, ring, REPLY_LOG_BODY_MAX + 1);
	ring->next = UINT32_MAX;
	reply_log_open(notes, ring);
	CHECK(!find(2) && !find(4) && !find(6));
	CHECK(find(8) && find(8)->state == REPLY_BEGUN);
	CHECK(begin(10) < ring->notes + REPLY_LOG_NOTES);
	for (int round = 0; round < 200; round++) {
		uint8_t *bytes = (uint8_t *)ring;

		for (int i = 0; i < 2000; i++)
			bytes[(size_t)random() % sizeof(*ring)] =
				(uint8_t)random();
		reply_log_open(notes, ring);
		for (unsigned i = 0; i < notes->count; i++)
			CHECK(ring->notes[notes->order[i].slot].len <=
			      REPLY_LOG_BODY_MAX);
		begin((uint64_t)random());
		find((uint64_t)random() % 100);
	}
}

int main(void)
{
	ring = xcalloc(1, sizeof(*ring));
	notes = xcalloc(1, sizeof(*notes));
	RUN(a_successor_finds_what_was_begun_and_what_was_done);
	RUN(another_request_of_the_same_number_is_not_it);
	RUN(the_oldest_go_first_also_while_they_are_asked_for);
	RUN(what_makes_no_sense_is_nothing);
	free(ring);
	free(notes);
	return DONE();
}
