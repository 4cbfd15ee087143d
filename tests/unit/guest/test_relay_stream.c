/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay_stream.c - the bytes of the files port, WELCOME, and the table of
 * mounts
 */
#include "guest/relay_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "guest/mount_table.h"
#include "guest/relay_welcome.h"
#include "lib/tap.h"
#include "proto/cursor.h"

static const uint8_t markers[2][RECORD_MARKER_BYTES] = {
	"the marker of the next server..",
	"the marker of this server......",
};

static bool give(struct stream_in *in, const void *bytes, size_t len)
{
	size_t left;
	void *room = stream_in_room(in, &left);

	if (left < STREAM_RECORD_MAX)
		return false;
	memcpy(room, bytes, len);
	return stream_in_added(in, len, markers, 2);
}

static size_t put_record(uint8_t *bytes, unsigned type, const char *text)
{
	struct record record = { .len = (uint32_t)strlen(text),
				 .type = (uint8_t)type,
				 .share = 1 };

	record_encode(&record, bytes);
	memcpy(bytes + RECORD_HEADER_BYTES, text, record.len);
	return RECORD_HEADER_BYTES + record.len;
}

static void records_come_out_however_they_were_cut(void)
{
	uint8_t bytes[256];
	size_t len = put_record(bytes, RECORD_FUSE, "first");

	len += put_record(bytes + len, RECORD_DROP, "");
	len += put_record(bytes + len, RECORD_TICKET, "third one");
	for (size_t step = 1; step <= len; step++) {
		struct stream_in in;
		unsigned count = 0;

		stream_in_init(&in, STREAM_IN_BYTES);
		for (size_t at = 0; at < len; at += step) {
			const uint8_t *payload;
			struct record record;

			CHECK(!give(&in, bytes + at,
				    len - at < step ? len - at : step));
			while (stream_in_next(&in, &record, &payload)) {
				CHECK(record.share == 1);
				CHECK(++count != 3 ||
				      !memcmp(payload, "third one", 9));
			}
		}
		CHECK(count == 3 && !in.deaf);
		stream_in_release(&in);
	}
}

static void a_marker_is_found_behind_half_a_record(void)
{
	uint8_t bytes[256];
	size_t len = put_record(bytes, RECORD_FUSE, "whole");
	const uint8_t *payload;
	struct record record;

	put_record(bytes + len, RECORD_FUSE, "this one is cut somewhere here");
	len += 20;
	memcpy(bytes + len, markers[1], RECORD_MARKER_BYTES);
	len += RECORD_MARKER_BYTES;
	for (size_t cut = 0; cut < len; cut++) {
		struct stream_in in;
		unsigned count = 0;

		stream_in_init(&in, STREAM_IN_BYTES);
		if (cut)
			CHECK(!give(&in, bytes, cut));
		while (stream_in_next(&in, &record, &payload))
			count++;
		CHECK(give(&in, bytes + cut, len - cut));
		while (stream_in_next(&in, &record, &payload))
			count++;
		CHECK(count == 1);
		CHECK(!memcmp(in.tail, markers[1], RECORD_MARKER_BYTES));
		stream_in_reset(&in);
		CHECK(!give(&in, bytes, 13));
		CHECK(stream_in_next(&in, &record, &payload));
		stream_in_release(&in);
	}
}

/* From the port's last record on another one reads it. */
static void what_is_left_is_handed_on(void)
{
	uint8_t bytes[200];
	size_t len = put_record(bytes, RECORD_RINGS, "four");
	size_t second = len + put_record(bytes + len, RECORD_WAKE, "");
	struct stream_in in, other;
	const uint8_t *payload;
	struct record record;

	memcpy(bytes + second, markers[0], RECORD_MARKER_BYTES);
	for (size_t cut = len; cut < second + RECORD_MARKER_BYTES; cut++) {
		stream_in_init(&in, STREAM_IN_BYTES);
		stream_in_init(&other, STREAM_IN_BYTES);
		CHECK(!give(&in, bytes, cut));
		CHECK(stream_in_next(&in, &record, &payload) &&
		      record.type == RECORD_RINGS);
		stream_in_hand_on(&in, &other);
		CHECK(!stream_in_next(&in, &record, &payload));
		CHECK(give(&other, bytes + cut,
			   second + RECORD_MARKER_BYTES - cut));
		CHECK(stream_in_next(&other, &record, &payload) &&
		      record.type == RECORD_WAKE);
		CHECK(!memcmp(other.tail, markers[0], RECORD_MARKER_BYTES));
		stream_in_release(&in);
		stream_in_release(&other);
	}
}

static void what_is_no_record_is_dropped_up_to_a_marker(void)
{
	uint8_t noise[4096];
	const uint8_t *payload;
	struct record record;
	struct stream_in in;

	memset(noise, 0xee, sizeof(noise));
	stream_in_init(&in, STREAM_IN_BYTES);
	CHECK(!give(&in, noise, sizeof(noise)));
	CHECK(!stream_in_next(&in, &record, &payload) && in.deaf);
	for (int i = 0; i < 1000; i++)
		CHECK(!give(&in, noise, sizeof(noise)));
	CHECK(!give(&in, markers[0], 5));
	CHECK(give(&in, markers[0] + 5, RECORD_MARKER_BYTES - 5));
	stream_in_reset(&in);
	CHECK(!in.deaf);
	stream_in_release(&in);
}

static bool is_record(const uint8_t *bytes)
{
	struct record record;

	return record_decode(bytes, &record) == 0;
}

static void a_successor_finishes_the_record_that_was_under_way(void)
{
	struct stream_out *out = xcalloc(1, sizeof(*out));

	for (int i = 0; i < 3; i++) {
		memset(stream_out_room(out) + RECORD_HEADER_BYTES, 'a' + i, 92);
		stream_out_commit(out, RECORD_FUSE, 0, 92);
	}
	CHECK(out->end == 300);
	stream_out_sent(out, 130);
	CHECK(out->start == 130 && out->boundary == 200);
	stream_out_break(out, "call", 4);
	CHECK(out->start == 0 && out->end == 70 + 8 + 4);
	CHECK(out->bytes[69] == 'b' && !is_record(out->bytes + 70));
	CHECK(!memcmp(out->bytes + 78, "call", 4));
	/* So does the next one with that. */
	stream_out_sent(out, 20);
	stream_out_break(out, "next", 4);
	CHECK(out->end == 62 + 8 + 4 && !memcmp(out->bytes + 58, "call", 4));
	stream_out_sent(out, out->end);
	CHECK(out->start == 0 && out->end == 0);

	/* At a boundary there is nothing to finish. */
	stream_out_commit(out, RECORD_FUSE, 0, 92);
	stream_out_break(out, "call", 4);
	CHECK(out->end == 8 + 4);
	stream_out_sent(out, out->end);

	/* A marker goes before records. */
	stream_out_raw(out, markers[0], RECORD_MARKER_BYTES);
	stream_out_commit(out, RECORD_HELLO, 0, 16);
	stream_out_sent(out, 10);
	CHECK(out->boundary == RECORD_MARKER_BYTES);
	stream_out_sent(out, RECORD_MARKER_BYTES);
	CHECK(out->boundary == out->end);

	/* What another left is not believed. */
	out->start = 7;
	out->boundary = STREAM_OUT_BYTES + 1;
	stream_out_break(out, "call", 4);
	CHECK(out->start == 0 && out->end == 8 + 4);
	free(out);
}

/* Who is killed in a write does not know whether it has left. */
static void what_may_have_left_is_ended_wherever_it_ends(void)
{
	struct stream_out *out = xcalloc(1, sizeof(*out));
	size_t most = STREAM_RECORD_MAX + 4;

	stream_out_commit(out, RECORD_FUSE, 0, 92);
	CHECK(stream_out_piece(out) == 100);
	stream_out_break(out, "call", 4);
	CHECK(out->end == most && !is_record(out->bytes));
	CHECK(out->bytes[most - 5] == 0xff);
	/* It stays within its bounds, however many die like this. */
	for (int i = 0; i < 10; i++) {
		stream_out_piece(out);
		stream_out_break(out, "call", 4);
		CHECK(out->end >= most && out->end <= STREAM_OUT_BYTES);
		CHECK(out->boundary == out->end && out->start == 0);
	}
	/* One that knows leaves no doubt. */
	stream_out_piece(out);
	stream_out_sent(out, 0);
	CHECK(!out->unsure);
	free(out);
}

static void pieces_are_whole_records_where_they_fit(void)
{
	struct stream_out *out = xcalloc(1, sizeof(*out));

	for (int i = 0; i < 5; i++)
		stream_out_commit(out, RECORD_FUSE, 0, 9992);
	CHECK(stream_out_piece(out) == 30000);
	stream_out_sent(out, 30000);
	CHECK(stream_out_piece(out) == 20000);
	/* What was cut nevertheless is finished first. */
	stream_out_sent(out, 5000);
	CHECK(stream_out_piece(out) == 15000);
	stream_out_sent(out, 15000);
	CHECK(out->end == 0);

	stream_out_commit(out, RECORD_FUSE, 0, 65528);
	stream_out_commit(out, RECORD_FUSE, 0, 92);
	CHECK(stream_out_piece(out) == STREAM_PIECE_BYTES);
	stream_out_sent(out, STREAM_PIECE_BYTES);
	CHECK(stream_out_piece(out) == STREAM_PIECE_BYTES);
	stream_out_sent(out, STREAM_PIECE_BYTES);
	CHECK(stream_out_piece(out) == 100);
	stream_out_sent(out, 100);

	stream_out_raw(out, markers[0], RECORD_MARKER_BYTES);
	stream_out_commit(out, RECORD_HELLO, 0, RECORD_HELLO_BYTES);
	CHECK(stream_out_piece(out) == out->end);
	free(out);
}

static void output_has_room_until_it_has_not(void)
{
	struct stream_out *out = xcalloc(1, sizeof(*out));
	unsigned count = 0;

	while (stream_out_room(out) && count < 10) {
		stream_out_commit(out, RECORD_FUSE, 0, RECORD_PAYLOAD_MAX);
		count++;
	}
	CHECK(count == 4);
	stream_out_sent(out, STREAM_RECORD_MAX - 1);
	CHECK(!stream_out_room(out));
	stream_out_sent(out, 2);
	CHECK(stream_out_room(out) && out->start == 0);
	CHECK(out->boundary == STREAM_RECORD_MAX - 1);
	free(out);
}

static size_t welcome(uint8_t *bytes, size_t size, uint32_t flags,
		      uint32_t type, const char *path)
{
	struct writer w = writer_over(bytes, size);

	writer_u32(&w, RECORD_VERSION);
	writer_u32(&w, 1);
	writer_bytes(&w, markers[0], RECORD_MARKER_BYTES);
	writer_u32(&w, flags);
	writer_u32(&w, type);
	writer_str(&w, path);
	return writer_len(&w);
}

static void a_welcome_names_plain_paths_only(void)
{
	static const char *const bad[] = { "",      "/",      "a/b",  "/a//b",
					   "/a/",   "/./a",   "/a/.", "/a/..",
					   "/../a", "/a/../b" };
	uint8_t bytes[8192];
	char long_path[WELCOME_PATH_MAX + 3] = "/";
	struct welcome got;
	size_t len = welcome(bytes, sizeof(bytes), 3, S_IFDIR, "/a/..b/.c");

	CHECK(welcome_decode(bytes, len, &got) == 0);
	CHECK(got.count == 1 && got.shares[0].flags == 3);
	CHECK(!strcmp(got.shares[0].path, "/a/..b/.c"));
	CHECK(!memcmp(got.next_marker, markers[0], RECORD_MARKER_BYTES));
	CHECK(welcome_decode(bytes, len - 1, &got) == -1);
	CHECK(welcome_decode(bytes, len + 1, &got) == -1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		len = welcome(bytes, sizeof(bytes), 0, S_IFDIR, bad[i]);
		CHECK(welcome_decode(bytes, len, &got) == -1);
	}
	memset(long_path + 1, 'x', WELCOME_PATH_MAX - 1);
	len = welcome(bytes, sizeof(bytes), 0, S_IFREG, long_path);
	CHECK(welcome_decode(bytes, len, &got) == 0);
	long_path[WELCOME_PATH_MAX] = 'x';
	len = welcome(bytes, sizeof(bytes), 0, S_IFREG, long_path);
	CHECK(welcome_decode(bytes, len, &got) == -1);
}

static void a_welcome_has_known_values_only(void)
{
	uint8_t bytes[256];
	struct welcome got;
	size_t len = welcome(bytes, sizeof(bytes), 8, S_IFDIR, "/a");

	CHECK(welcome_decode(bytes, len, &got) == -1);
	len = welcome(bytes, sizeof(bytes), 0, S_IFCHR, "/a");
	CHECK(welcome_decode(bytes, len, &got) == -1);
	len = welcome(bytes, sizeof(bytes), RECORD_SHARE_GONE, 0, "");
	CHECK(welcome_decode(bytes, len, &got) == 0);
	bytes[0] = 1;
	CHECK(welcome_decode(bytes, len, &got) == -1);
	bytes[0] = RECORD_VERSION;
	bytes[4] = WELCOME_SHARES_MAX + 1;
	CHECK(welcome_decode(bytes, len, &got) == -1);
}

static void mounts_are_found_by_their_source(void)
{
	static const char text[] =
		"22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
		"cut off\n"
		"30 22 0:31 / /a\\040b\\134c rw,nosuid shared:5 master:1 - "
		"fuse.bawn bawn rw,user_id=0\n"
		"31 22 0:32 / /x rw - fuse.bawn bawned rw\n"
		"32 22 0:33 / /over rw - overlay bawn rw,lowerdir=/run\n"
		"33 22 0:34 / /bad\\000path rw - overlay bawn rw\n"
		"34 22 0:35 / /last rw -";
	struct slice rest = slice_of(text);
	char path[16];

	CHECK(mount_table_next(&rest, "bawn", path, sizeof(path)));
	CHECK(!strcmp(path, "/a b\\c"));
	CHECK(mount_table_next(&rest, "bawn", path, sizeof(path)));
	CHECK(!strcmp(path, "/over"));
	CHECK(!mount_table_next(&rest, "bawn", path, sizeof(path)));
	rest = slice_of(text);
	CHECK(mount_table_next(&rest, "bawn", path, 6));
	CHECK(!strcmp(path, "/over"));
}

int main(void)
{
	RUN(records_come_out_however_they_were_cut);
	RUN(a_marker_is_found_behind_half_a_record);
	RUN(what_is_left_is_handed_on);
	RUN(what_is_no_record_is_dropped_up_to_a_marker);
	RUN(a_successor_finishes_the_record_that_was_under_way);
	RUN(what_may_have_left_is_ended_wherever_it_ends);
	RUN(pieces_are_whole_records_where_they_fit);
	RUN(output_has_room_until_it_has_not);
	RUN(a_welcome_names_plain_paths_only);
	RUN(a_welcome_has_known_values_only);
	RUN(mounts_are_found_by_their_source);
	return DONE();
}
