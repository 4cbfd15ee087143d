/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay.c - the pure parts of the files relay: requests without an
 * answer, writes that were answered ahead
 */
#include <errno.h>
#include <linux/fuse.h>
#include <string.h>

#include "base/mem.h"
#include "guest/relay_pending.h"
#include "guest/relay_writes.h"
#include "lib/tap.h"
#include "proto/record.h"

static struct pending *add(struct pending_table *table, unsigned share,
			   uint64_t unique, uint32_t opcode, size_t len)
{
	uint8_t *bytes = xcalloc(1, len);
	struct fuse_in_header head = { .len = (uint32_t)len,
				       .opcode = opcode,
				       .unique = unique,
				       .nodeid = unique + 1000 };
	struct pending *pending;

	memcpy(bytes, &head, sizeof(head));
	bytes[len - 1] = (uint8_t)unique;
	pending = pending_add(table, share, bytes, len);
	free(bytes);
	return pending;
}

static void a_request_is_found_by_its_share_and_number(void)
{
	struct pending_table table;
	struct pending *first, *second;

	pending_init(&table);
	first = add(&table, 0, 2, FUSE_LOOKUP, 60);
	second = add(&table, 1, 2, FUSE_LOOKUP, 60);
	add(&table, 0, 2 + 2 * PENDING_BUCKETS, FUSE_GETATTR, 56);
	CHECK(pending_find(&table, 0, 2) == first);
	CHECK(pending_find(&table, 1, 2) == second);
	CHECK(!pending_find(&table, 2, 2) && !pending_find(&table, 0, 4));
	CHECK(first->opcode == FUSE_LOOKUP && first->node == 1002);
	CHECK(first->len == 60 && first->bytes[59] == 2);
	pending_remove(&table, first);
	CHECK(!pending_find(&table, 0, 2) && table.count == 2);
	CHECK(pending_find(&table, 0, 2 + 2 * PENDING_BUCKETS));
	pending_release(&table);
}

static void requests_are_sent_again_in_their_order(void)
{
	struct pending_table table;

	pending_init(&table);
	pending_rewind(&table);
	CHECK(!pending_next(&table));
	for (uint64_t i = 1; i <= 5; i++)
		add(&table, 0, i * 2, FUSE_LOOKUP, 60);
	pending_remove(&table, pending_find(&table, 0, 4));
	pending_rewind(&table);
	CHECK(pending_next(&table)->unique == 2);
	CHECK(pending_next(&table)->unique == 6);
	/* The next one leaves while it is waited for. */
	pending_remove(&table, pending_find(&table, 0, 8));
	CHECK(pending_next(&table)->unique == 10);
	CHECK(!pending_next(&table) && !table.resend);
	pending_release(&table);
}

static void requests_of_every_size_are_kept_and_used_again(void)
{
	static const size_t sizes[] = { 40,    512,   513,
					65535, 65536, RECORD_PAYLOAD_MAX };
	struct pending_table table;

	pending_init(&table);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct pending *pending =
				add(&table, 3, i + 1, FUSE_WRITE, sizes[i]);

			CHECK(pending->bytes[sizes[i] - 1] == i + 1);
		}
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			pending_remove(&table, pending_find(&table, 3, i + 1));
		CHECK(!table.count && !table.writes && !table.write_bytes);
	}
	pending_release(&table);
}

static void writes_and_requests_have_a_limit(void)
{
	struct pending_table table;
	uint64_t unique = 0;

	pending_init(&table);
	while (pending_has_room(&table) && unique <= PENDING_WRITES_MAX)
		add(&table, 0, ++unique, FUSE_WRITE, 100);
	CHECK(unique == PENDING_WRITES_MAX);
	pending_release(&table);
	pending_init(&table);
	for (unique = 0; pending_has_room(&table) && unique < 100;)
		add(&table, 0, ++unique, FUSE_WRITE, 1 << 20);
	CHECK(unique == 32);
	pending_release(&table);
	pending_init(&table);
	for (unique = 0; pending_has_room(&table) && unique <= PENDING_MAX;)
		add(&table, 0, ++unique, FUSE_LOOKUP, 60);
	CHECK(unique == PENDING_MAX);
	pending_release(&table);
}

static struct {
	unsigned count;
	uint64_t unique;
	int error;
} flushed;

static void on_flushed(void *ctx, unsigned share, uint64_t unique, int error)
{
	flushed.count++;
	flushed.unique = unique;
	flushed.error = error;
}

static void a_flush_waits_for_earlier_writes_of_its_node(void)
{
	struct writes writes;

	flushed.count = 0;
	writes_init(&writes, on_flushed, NULL);
	CHECK(writes_flush(&writes, 0, 5, 100) == 0);
	writes_sent(&writes, 0, 5);
	writes_sent(&writes, 0, 5);
	CHECK(writes_flush(&writes, 0, 6, 101) == 0);
	CHECK(writes_flush(&writes, 1, 5, 102) == 0);
	CHECK(writes_flush(&writes, 0, 5, 103) == -1);
	writes_sent(&writes, 0, 5); /* later: not waited for */
	writes_answered(&writes, 0, 5, 0);
	CHECK(flushed.count == 0);
	writes_answered(&writes, 0, 5, 0);
	CHECK(flushed.count == 1 && flushed.unique == 103 && !flushed.error);
	writes_answered(&writes, 0, 5, 0);
	CHECK(writes_flush(&writes, 0, 5, 104) == 0);
	/* Nobody asked for it. */
	writes_answered(&writes, 0, 5, EIO);
	CHECK(!writes.errors);
	writes_release(&writes);
}

static void an_error_is_told_once_and_the_first_one(void)
{
	struct writes writes;

	flushed.count = 0;
	writes_init(&writes, on_flushed, NULL);
	for (int i = 0; i < 3; i++)
		writes_sent(&writes, 2, 9);
	CHECK(writes_may_answer(&writes, 2, 9));
	writes_answered(&writes, 2, 9, EDQUOT);
	writes_answered(&writes, 2, 9, EIO);
	CHECK(!writes_may_answer(&writes, 2, 9));
	CHECK(writes_may_answer(&writes, 2, 8));
	CHECK(writes_flush(&writes, 2, 9, 7) == -1);
	CHECK(writes_flush(&writes, 2, 9, 8) == -1);
	writes_answered(&writes, 2, 9, 0);
	CHECK(flushed.count == 2 && flushed.unique == 8 && !flushed.error);
	CHECK(writes_may_answer(&writes, 2, 9));

	writes_sent(&writes, 2, 9);
	writes_answered(&writes, 2, 9, ENOSPC);
	CHECK(writes_take_error(&writes, 2, 9) == ENOSPC);
	CHECK(writes_take_error(&writes, 2, 9) == 0);

	writes_sent(&writes, 2, 9);
	writes_answered(&writes, 2, 9, ENOSPC);
	CHECK(writes_flush(&writes, 2, 9, 10) == ENOSPC);
	CHECK(writes_flush(&writes, 2, 9, 11) == 0);
	writes_release(&writes);
}

static void errors_of_forgotten_nodes_are_forgotten(void)
{
	struct writes writes;

	writes_init(&writes, on_flushed, NULL);
	for (uint64_t node = 1; node <= WRITES_ERRORS_MAX + 10; node++) {
		writes_sent(&writes, 0, node);
		writes_answered(&writes, 0, node, EIO);
	}
	CHECK(writes.errors == WRITES_ERRORS_MAX);
	for (uint64_t node = 1; node <= WRITES_ERRORS_MAX + 10; node++)
		writes_forget(&writes, 0, node);
	CHECK(writes.errors == 0);
	/* A write that is under way is not. */
	writes_sent(&writes, 0, 1);
	writes_forget(&writes, 0, 1);
	CHECK(writes_flush(&writes, 0, 1, 3) == -1);
	writes_release(&writes);
}

static void a_large_write_is_kept_where_it_was_read(void)
{
	struct fuse_in_header head = { .opcode = FUSE_WRITE,
				       .unique = 4,
				       .nodeid = 9 };
	size_t len = PENDING_LARGE_FROM + sizeof(head);
	struct pending_table table;
	struct pending *pending;
	uint8_t *rest;

	pending_init(&table);
	rest = pending_reserve(&table, sizeof(head));
	CHECK(pending_reserve(&table, sizeof(head)) == rest);
	memset(rest, 7, len - sizeof(head));
	pending = pending_add_reserved(&table, 2, &head, sizeof(head), len);
	CHECK(pending_find(&table, 2, 4) == pending && pending->node == 9);
	CHECK(pending->bytes + sizeof(head) == rest);
	CHECK(pending->bytes[len - 1] == 7);
	CHECK(memcmp(pending->bytes, &head, sizeof(head)) == 0);
	CHECK(table.writes == 1 && table.write_bytes == len);
	CHECK(pending_reserve(&table, sizeof(head)) != rest);
	pending_remove(&table, pending);
	pending_release(&table);
}

static void what_was_not_sent_is_the_next(void)
{
	struct pending_table table;
	struct pending *late;

	pending_init(&table);
	add(&table, 0, 2, FUSE_READ, 100);
	late = add(&table, 0, 4, FUSE_WRITE, 100);
	CHECK(!late->sent && !late->in_bulk);
	pending_delay(&table, late);
	CHECK(table.resend == late);
	CHECK(pending_next(&table) == late && !table.resend);
	pending_release(&table);
}

int main(void)
{
	RUN(a_request_is_found_by_its_share_and_number);
	RUN(requests_are_sent_again_in_their_order);
	RUN(requests_of_every_size_are_kept_and_used_again);
	RUN(writes_and_requests_have_a_limit);
	RUN(a_large_write_is_kept_where_it_was_read);
	RUN(what_was_not_sent_is_the_next);
	RUN(a_flush_waits_for_earlier_writes_of_its_node);
	RUN(an_error_is_told_once_and_the_first_one);
	RUN(errors_of_forgotten_nodes_are_forgotten);
	return DONE();
}
