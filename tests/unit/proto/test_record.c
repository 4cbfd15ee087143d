/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record.c - the envelope: exact, or not at all
 */
#include "proto/record.h"

#include "lib/tap.h"
#include "proto/bulk.h"
#include "proto/cursor.h"

static void a_header_decodes_to_what_was_encoded(void)
{
	struct record in = { .len = 70, .type = RECORD_FUSE, .share = 5 }, out;
	uint8_t bytes[RECORD_HEADER_BYTES];

	record_encode(&in, bytes);
	CHECK(record_decode(bytes, &out) == 0);
	CHECK(out.len == 70 && out.type == RECORD_FUSE && out.share == 5);
}

static void unknown_types_and_large_lengths_are_refused(void)
{
	struct record in = { .len = RECORD_PAYLOAD_MAX, .type = RECORD_FUSE };
	uint8_t bytes[RECORD_HEADER_BYTES];
	struct record out;

	record_encode(&in, bytes);
	CHECK(record_decode(bytes, &out) == 0);
	bytes[6] = 1;
	CHECK(record_decode(bytes, &out) < 0);
	in.len++;
	record_encode(&in, bytes);
	CHECK(record_decode(bytes, &out) < 0);
	in = (struct record){ .type = RECORD_TYPES };
	record_encode(&in, bytes);
	CHECK(record_decode(bytes, &out) < 0);
	in.type = 0;
	record_encode(&in, bytes);
	CHECK(record_decode(bytes, &out) < 0);
}

static void a_greeting_has_one_length(void)
{
	uint8_t bytes[RECORD_HELLO_BYTES + 1] = { 3, 0, 0, 0, 7,
						  1, 0, 0, 5, [16] = 3 };
	struct record_hello hello;

	CHECK(record_hello_decode(bytes, RECORD_HELLO_BYTES, &hello) == 0);
	CHECK(hello.version == 3 && hello.notifier == 0x107 &&
	      hello.initialised == 5 &&
	      hello.features == (RECORD_READS_BULK | RECORD_WRITES_BULK));
	for (size_t len = 0; len < sizeof(bytes) + 1; len++) {
		if (len != RECORD_HELLO_BYTES)
			CHECK(record_hello_decode(bytes,
						  len > sizeof(bytes) ? 0 : len,
						  &hello) < 0);
	}
}

static void a_done_ticket_has_a_number(void)
{
	uint8_t bytes[5] = { 7, 1 };
	uint32_t number;

	CHECK(record_done_decode(bytes, 4, &number) == 0 && number == 263);
	CHECK(record_done_decode(bytes, 3, &number) < 0);
	CHECK(record_done_decode(bytes, 5, &number) < 0);
	CHECK(record_rings_decode(bytes, 4, &number) == 0 && number == 263);
	CHECK(record_rings_decode(bytes, 3, &number) < 0);
	CHECK(record_rings_decode(bytes, 5, &number) < 0);
}

static size_t put_piece(uint8_t *bytes, uint32_t start, uint32_t len)
{
	struct writer w = writer_over(bytes, RECORD_BULK_BYTES);

	writer_u32(&w, start);
	writer_u32(&w, len);
	return writer_len(&w);
}

static void a_piece_lies_in_the_memory(void)
{
	uint8_t bytes[RECORD_BULK_BYTES + 1] = { 0 };
	struct record_piece piece;
	size_t len = put_piece(bytes, BULK_BYTES - 5, 5);

	CHECK(record_piece_decode(bytes, len, &piece) == 0);
	CHECK(piece.start == BULK_BYTES - 5 && piece.len == 5);
	CHECK(record_piece_decode(bytes, len - 1, &piece) < 0);
	CHECK(record_piece_decode(bytes, len + 1, &piece) < 0);
	CHECK(record_write_decode(bytes, len + 1, &piece) == 0);
	CHECK(record_write_decode(bytes, len - 1, &piece) < 0);
	put_piece(bytes, BULK_BYTES - 5, 6);
	CHECK(record_piece_decode(bytes, len, &piece) < 0);
	CHECK(record_write_decode(bytes, len, &piece) < 0);
	put_piece(bytes, 0, 0);
	CHECK(record_piece_decode(bytes, len, &piece) < 0);
	CHECK(record_write_decode(bytes, len, &piece) < 0);
}

static void some_pieces_were_read(void)
{
	uint8_t bytes[5] = { 7, 1 };
	uint32_t count;

	CHECK(record_read_decode(bytes, 4, &count) == 0 && count == 263);
	CHECK(record_read_decode(bytes, 3, &count) < 0);
	CHECK(record_read_decode(bytes, 5, &count) < 0);
	CHECK(record_read_decode(bytes + 1, 4, &count) == 0);
	CHECK(record_read_decode((uint8_t[4]){ 0 }, 4, &count) < 0);
}

static void room_is_there_or_not(void)
{
	uint8_t bytes[5] = { 1 };
	bool there = false;

	CHECK(record_room_decode(bytes, 4, &there) == 0 && there);
	CHECK(record_room_decode(bytes + 1, 4, &there) == 0 && !there);
	CHECK(record_room_decode(bytes, 3, &there) < 0);
	CHECK(record_room_decode(bytes, 5, &there) < 0);
	bytes[0] = 2;
	CHECK(record_room_decode(bytes, 4, &there) < 0);
}

static void listings_that_were_used_are_named(void)
{
	uint8_t bytes[17] = { 7, 1, [8] = 9 };
	size_t count;

	CHECK(record_nodes_decode(bytes, 16, &count) == 0 && count == 2);
	CHECK(record_node_at(bytes, 0) == 263 && record_node_at(bytes, 1) == 9);
	CHECK(record_nodes_decode(bytes, 8, &count) == 0 && count == 1);
	CHECK(record_nodes_decode(bytes, 0, &count) < 0);
	CHECK(record_nodes_decode(bytes, 7, &count) < 0);
	CHECK(record_nodes_decode(bytes, 17, &count) < 0);
}

static void a_made_file_has_a_message_and_a_node(void)
{
	uint8_t bytes[] = { 1, 2, 3, 4, 5, 70, 0, 0, 0, 0, 0, 0, 0x80 };
	size_t message_len;
	uint64_t node;

	CHECK(record_make_decode(bytes, sizeof(bytes), &message_len, &node) ==
	      0);
	CHECK(message_len == 5 && node == (1ULL << 63 | 70));
	/* What it begins with is another's to look at: it may be nothing. */
	CHECK(record_make_decode(bytes + 5, RECORD_MAKE_BYTES, &message_len,
				 &node) == 0);
	CHECK(message_len == 0 && node == (1ULL << 63 | 70));
	for (size_t len = 0; len < RECORD_MAKE_BYTES; len++)
		CHECK(record_make_decode(bytes, len, &message_len, &node) < 0);
	CHECK(record_make_decode(NULL, 0, &message_len, &node) < 0);
	bytes[5] = bytes[12] = 0;
	CHECK(record_make_decode(bytes, sizeof(bytes), &message_len, &node) <
	      0);
}

int main(void)
{
	RUN(a_header_decodes_to_what_was_encoded);
	RUN(unknown_types_and_large_lengths_are_refused);
	RUN(a_greeting_has_one_length);
	RUN(a_done_ticket_has_a_number);
	RUN(a_piece_lies_in_the_memory);
	RUN(some_pieces_were_read);
	RUN(room_is_there_or_not);
	RUN(listings_that_were_used_are_named);
	RUN(a_made_file_has_a_message_and_a_node);
	return DONE();
}
