/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_net_input.c - markers are found wherever they are cut, and nothing else
 * is taken for one
 */
#include "guest/net_input.h"

#include "base/own.h"
#include "lib/tap.h"

enum { SIZE = 256 };

static uint8_t markers[2][NET_MARKER_BYTES];
static uint8_t found[NET_MARKER_BYTES];

static void choose_markers(void)
{
	for (unsigned i = 0; i < NET_MARKER_BYTES; i++) {
		markers[0][i] = (uint8_t)(0x80 + i);
		/* Begins like itself once more: "abcdefgabcdefg...". */
		markers[1][i] = (uint8_t)('a' + i % 7);
	}
}

static bool add(struct net_input *in, const void *bytes, size_t len)
{
	size_t room;
	uint8_t *to = net_input_room(in, &room);

	CHECK(room >= SIZE && len <= room);
	memcpy(to, bytes, len);
	net_input_added(in, len);
	return net_input_marker(in, markers, 2, found);
}

/* What is handed out is appended to out. */
static size_t take(struct net_input *in, uint8_t *out)
{
	size_t len;
	const uint8_t *bytes = net_input_take(in, &len);

	memcpy(out, bytes, len);
	return len;
}

static void all_bytes_are_handed_out_in_order(void)
{
	struct net_input in;
	uint8_t bytes[1000], out[1000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 + i / 256);
	for (size_t chunk = 1; chunk <= 200; chunk += 7) {
		size_t done = 0;

		net_input_init(&in, SIZE);
		for (size_t at = 0; at < sizeof(bytes); at += chunk) {
			size_t len = sizeof(bytes) - at;

			CHECK(!add(&in, bytes + at, len < chunk ? len : chunk));
			done += take(&in, out + done);
		}
		CHECK(done == sizeof(bytes) && !memcmp(out, bytes, done));
		net_input_release(&in);
	}
}

static void a_marker_is_found_however_it_is_cut(void)
{
	uint8_t out[256];

	for (size_t cut = 0; cut <= NET_MARKER_BYTES; cut++) {
		for (unsigned m = 0; m < 2; m++) {
			struct net_input in;
			size_t done;
			bool first;

			net_input_init(&in, SIZE);
			CHECK(!add(&in, "before", 6));
			done = take(&in, out);
			first = add(&in, markers[m], cut);
			CHECK(first == (cut == NET_MARKER_BYTES));
			if (!first) {
				done += take(&in, out + done);
				CHECK(add(&in, markers[m] + cut,
					  NET_MARKER_BYTES - cut));
			}
			CHECK(!memcmp(found, markers[m], NET_MARKER_BYTES));
			/* Few bytes of it may have been handed out. */
			CHECK(done < 6 + NET_INPUT_LIKELY);
			CHECK(!memcmp(out, "before", 6));
			net_input_release(&in);
		}
	}
}

static void a_marker_byte_by_byte(void)
{
	struct net_input in;
	uint8_t out[64];
	size_t done = 0;

	net_input_init(&in, SIZE);
	for (unsigned i = 0; i < NET_MARKER_BYTES; i++) {
		bool last = i + 1 == NET_MARKER_BYTES;

		CHECK(add(&in, &markers[0][i], 1) == last);
		if (!last)
			done += take(&in, out + done);
	}
	CHECK(done < NET_INPUT_LIKELY);
	net_input_release(&in);
}

static void what_only_begins_like_one_comes_late_but_whole(void)
{
	for (size_t len = 1; len < NET_MARKER_BYTES; len++) {
		struct net_input in;
		uint8_t out[128];
		size_t done;

		net_input_init(&in, SIZE);
		CHECK(!add(&in, markers[0], len));
		done = take(&in, out);
		CHECK(done == (len < NET_INPUT_LIKELY ? len : 0));
		CHECK(!add(&in, "x", 1));
		done += take(&in, out + done);
		CHECK(done == len + 1 && !memcmp(out, markers[0], len));
		CHECK(out[len] == 'x');
		net_input_release(&in);
	}
}

static void a_marker_behind_a_part_of_itself_is_found(void)
{
	for (size_t prefix = 0; prefix < NET_MARKER_BYTES; prefix++) {
		struct net_input in;
		uint8_t bytes[2 * NET_MARKER_BYTES];

		memcpy(bytes, markers[1], prefix);
		memcpy(bytes + prefix, markers[1], NET_MARKER_BYTES);
		net_input_init(&in, SIZE);
		CHECK(add(&in, bytes, prefix + NET_MARKER_BYTES));
		net_input_release(&in);
	}
}

static void a_marker_that_is_followed_by_bytes_is_none(void)
{
	struct net_input in;
	uint8_t bytes[NET_MARKER_BYTES + 1] = { 0 }, out[64];

	memcpy(bytes, markers[0], NET_MARKER_BYTES);
	net_input_init(&in, SIZE);
	CHECK(!add(&in, bytes, sizeof(bytes)));
	CHECK(take(&in, out) == sizeof(bytes));
	/* After another epoch the past counts no more. */
	CHECK(!add(&in, markers[0], 31));
	net_input_reset(&in);
	CHECK(!add(&in, markers[0] + 31, 1));
	CHECK(take(&in, out) == 1);
	net_input_release(&in);
}

int main(void)
{
	choose_markers();
	RUN(all_bytes_are_handed_out_in_order);
	RUN(a_marker_is_found_however_it_is_cut);
	RUN(a_marker_byte_by_byte);
	RUN(what_only_begins_like_one_comes_late_but_whole);
	RUN(a_marker_behind_a_part_of_itself_is_found);
	RUN(a_marker_that_is_followed_by_bytes_is_none);
	return DONE();
}
