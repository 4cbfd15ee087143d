/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay_listing.c - listings that came before they were asked for
 */
#include "guest/relay_listing.h"

#include <string.h>

#include "lib/tap.h"
#include "proto/cursor.h"
#include "proto/record.h"

#define SHARE 1
#define FOLDER 7
#define SECONDS 600
#define NOW_S 1000
#define LAST_OFFSET 77

static struct listings listings;
static uint8_t payload[8192], request[512], message[4096];
static size_t payload_len;
static const uint8_t *answer; /* the last one */

static void begin_at(uint32_t opcode, uint32_t flags, uint64_t folder)
{
	struct writer w = writer_over(payload, sizeof(payload));

	writer_u32(&w, opcode);
	writer_u32(&w, flags);
	writer_u64(&w, folder);
	writer_u64(&w, 0);
	payload_len = writer_len(&w);
}

static void begin(uint64_t folder)
{
	begin_at(FUSE_READDIRPLUS, RECORD_LISTING_WHOLE, folder);
}

static void put_for(const char *name, uint64_t node, uint64_t seconds)
{
	struct fuse_entry_out out = { .nodeid = node,
				      .entry_valid = node ? seconds : 0,
				      .attr_valid = node ? SECONDS : 0,
				      .attr = { .ino = node + 100 } };
	struct fuse_dirent dirent = { .namelen = (uint32_t)strlen(name),
				      .off = LAST_OFFSET };
	size_t len = FUSE_NAME_OFFSET_DIRENTPLUS + dirent.namelen;

	memcpy(payload + payload_len, &out, sizeof(out));
	memcpy(payload + payload_len + sizeof(out), &dirent, FUSE_NAME_OFFSET);
	memcpy(payload + payload_len + FUSE_NAME_OFFSET_DIRENTPLUS, name,
	       dirent.namelen);
	memset(payload + payload_len + len, 0, FUSE_DIRENT_ALIGN(len) - len);
	payload_len += FUSE_DIRENT_ALIGN(len);
}

static void put(const char *name, uint64_t node)
{
	put_for(name, node, SECONDS);
}

static bool add(bool wanted)
{
	return listings_add(&listings, SHARE, payload, payload_len, wanted);
}

/* Folder 7 with . and two entries, 8 and 9. */
static void add_usual(void)
{
	begin(FOLDER);
	put(".", 0);
	put("one", 8);
	put("two", 9);
	CHECK(add(true));
}

/* The length of the answer; -1: it has to be asked for. */
static long ask_at(uint64_t folder, uint64_t offset, uint32_t size,
		   uint64_t now_s)
{
	struct fuse_in_header head = { .opcode = FUSE_READDIRPLUS,
				       .nodeid = folder };
	struct fuse_read_in in = { .offset = offset, .size = size };
	const uint8_t *bytes;
	size_t len;

	memcpy(request, &head, sizeof(head));
	memcpy(request + sizeof(head), &in, sizeof(in));
	if (!listings_find(&listings, SHARE, request, sizeof(head) + sizeof(in),
			   now_s, &bytes, &len))
		return -1;
	CHECK(len <= size);
	answer = bytes;
	return (long)len;
}

static bool ask(uint64_t folder, uint64_t offset, uint32_t size)
{
	long len = ask_at(folder, offset, size, NOW_S);

	CHECK(len < 0 || len == (long)payload_len - 24);
	return len >= 0;
}

static enum listing_found look(const char *name, struct fuse_entry_out *out)
{
	struct fuse_in_header head = { .opcode = FUSE_LOOKUP,
				       .nodeid = FOLDER };

	memcpy(request, &head, sizeof(head));
	memcpy(request + sizeof(head), name, strlen(name) + 1);
	return listings_lookup(&listings, SHARE, request,
			       sizeof(head) + strlen(name) + 1, out);
}

/* The nodes that are forgotten with the next message, summed up; 0: none. */
static uint64_t forgotten(void)
{
	struct fuse_batch_forget_in in;
	struct fuse_in_header head;
	struct fuse_forget_one one;
	unsigned share = 99;
	uint64_t sum = 0;
	size_t len =
		listings_forget(&listings, message, sizeof(message), &share);

	if (!len)
		return 0;
	memcpy(&head, message, sizeof(head));
	memcpy(&in, message + sizeof(head), sizeof(in));
	CHECK(share == SHARE && head.len == len &&
	      head.opcode == FUSE_BATCH_FORGET && in.count);
	CHECK(len == sizeof(head) + sizeof(in) + in.count * sizeof(one));
	for (uint32_t i = 0; i < in.count; i++) {
		memcpy(&one,
		       message + sizeof(head) + sizeof(in) + i * sizeof(one),
		       sizeof(one));
		CHECK(one.nlookup == 1);
		sum += one.nodeid;
	}
	return sum;
}

static void a_listing_is_given_once_and_then_the_kernels(void)
{
	listings_init(&listings);
	add_usual();
	CHECK(!ask(FOLDER + 1, 0, 4096) && !ask(FOLDER, 1, 4096));
	CHECK(!ask(FOLDER, 0, 100)); /* it does not fit */
	CHECK(ask(FOLDER, 0, 4096));
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	CHECK(listings.used_count == 1 && listings.used[0].node == FOLDER);
	listings_clear(&listings);
	CHECK(!listings.count && !listings.bytes && !forgotten());
	add_usual();
	listings_given(&listings, SHARE, FOLDER, NOW_S, false);
	CHECK(forgotten() == 17 && !forgotten());
	listings_release(&listings);
}

static void one_of_some_files_is_told_of(void)
{
	listings_init(&listings);
	for (uint64_t node = 100; node < 100 + 2 * LISTING_TELL_FILE; node++)
		listings_file_given(&listings, SHARE, node);
	CHECK(listings.used_count == 2 && listings.used[0].node == 100 &&
	      listings.used[1].node == 100 + LISTING_TELL_FILE);
	/* Nobody hears of them: there is an end to what is remembered. */
	for (int i = 0; i < 2 * LISTING_USED_MAX * LISTING_TELL_FILE; i++)
		listings_file_given(&listings, SHARE, 1);
	CHECK(listings.used_count == LISTING_USED_MAX);
	listings_release(&listings);
}

static unsigned nodes_in_answer(size_t len)
{
	struct fuse_entry_out out;
	struct fuse_dirent dirent;
	unsigned nodes = 0;

	for (size_t at = 0; at < len;) {
		memcpy(&out, answer + at, sizeof(out));
		memcpy(&dirent, answer + at + sizeof(out), FUSE_NAME_OFFSET);
		nodes += out.nodeid != 0;
		at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS +
					dirent.namelen);
	}
	return nodes;
}

static void a_given_listing_stays_as_names_for_a_while(void)
{
	struct fuse_entry_out out;
	long len;

	listings_init(&listings);
	add_usual();
	len = (long)payload_len - 24;
	CHECK(ask_at(FOLDER, LAST_OFFSET, 4096, NOW_S) < 0);
	CHECK(ask(FOLDER, 0, 4096) && nodes_in_answer((size_t)len) == 2);
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	CHECK(ask(FOLDER, 0, 4096) && nodes_in_answer((size_t)len) == 0);
	CHECK(ask_at(FOLDER, LAST_OFFSET, 4096, NOW_S) == 0);
	CHECK(!ask(FOLDER, LAST_OFFSET + 1, 4096) && !ask(FOLDER, 0, 100));
	/* Told once, however often it is used. */
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	CHECK(listings.used_count == 1);
	/* A name is the kernel's business. */
	CHECK(look("one", &out) == LISTING_UNKNOWN);
	CHECK(look("three", &out) == LISTING_UNKNOWN);
	CHECK(ask_at(FOLDER, 0, 4096, NOW_S + SECONDS / 2 - 1) == len);
	CHECK(ask_at(FOLDER, 0, 4096, NOW_S + SECONDS / 2) < 0);
	CHECK(!listings.count && !forgotten());
	listings_release(&listings);
}

static void names_go_with_the_first_entry_that_does(void)
{
	listings_init(&listings);
	add_usual();
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	listings_drop(&listings, SHARE, 9);
	CHECK(!ask(FOLDER, 0, 4096) && !forgotten());
	add_usual();
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	listings_drop(&listings, SHARE, FOLDER);
	CHECK(!ask(FOLDER, 0, 4096) && !forgotten());
	listings_release(&listings);
}

static void what_the_server_answered_is_kept_if_it_lasts(void)
{
	listings_init(&listings);
	add_usual();
	listings_clear(&listings);
	CHECK(forgotten() == 17);
	listings_keep(&listings, SHARE, payload, payload_len, NOW_S);
	CHECK(ask(FOLDER, 0, 4096) && nodes_in_answer(payload_len - 24) == 0);
	/* Nobody is told of a use: it was no guess. */
	CHECK(!listings.used_count);
	listings_clear(&listings);
	CHECK(!forgotten());
	begin(FOLDER);
	put_for("short", 8, LISTING_LASTING_S - 1);
	listings_keep(&listings, SHARE, payload, payload_len, NOW_S);
	CHECK(!listings.count);
	begin(FOLDER);
	put(".", 0); /* nothing says how long it lasts */
	listings_keep(&listings, SHARE, payload, payload_len, NOW_S);
	CHECK(!listings.count);
	listings_keep(&listings, SHARE, payload, payload_len - 1, NOW_S);
	CHECK(!listings.count && !forgotten());
	listings_release(&listings);
}

static void the_end_of_a_part_is_not_known(void)
{
	listings_init(&listings);
	begin(FOLDER);
	put("one", 8);
	payload[4] = 0; /* there is more in the folder */
	CHECK(add(true));
	listings_given(&listings, SHARE, FOLDER, NOW_S, true);
	CHECK(ask(FOLDER, 0, 4096));
	CHECK(ask_at(FOLDER, LAST_OFFSET, 4096, NOW_S) < 0);
	listings_release(&listings);
}

static void names_are_found_in_it_once(void)
{
	struct fuse_entry_out out;

	listings_init(&listings);
	CHECK(look("one", &out) == LISTING_UNKNOWN);
	add_usual();
	CHECK(look("one", &out) == LISTING_THERE);
	CHECK(out.nodeid == 8 && out.attr.ino == 108);
	CHECK(look("one", &out) == LISTING_UNKNOWN);
	CHECK(look("on", &out) == LISTING_ABSENT);
	CHECK(out.nodeid == 0 && out.entry_valid == 600);
	CHECK(look(".", &out) == LISTING_UNKNOWN);
	CHECK(listings.used_count == 1);
	/* What was given is not given with the rest, nor forgotten. */
	CHECK(ask(FOLDER, 0, 4096));
	listings_clear(&listings);
	CHECK(forgotten() == 9 && !forgotten());
	listings_release(&listings);
}

static void what_is_not_whole_says_nothing_of_other_names(void)
{
	struct fuse_entry_out out;

	listings_init(&listings);
	begin_at(FUSE_READDIRPLUS, 0, FOLDER);
	put("one", 8);
	CHECK(add(true));
	CHECK(look("two", &out) == LISTING_UNKNOWN);
	CHECK(look("one", &out) == LISTING_THERE);
	listings_release(&listings);
}

static void whatever_changes_an_entry_drops_the_listing(void)
{
	listings_init(&listings);
	add_usual();
	listings_drop(&listings, SHARE, 10);
	listings_drop(&listings, SHARE + 1, 8);
	listings_drop(&listings, SHARE, 0);
	CHECK(listings.count == 1);
	CHECK(listing_tells_of(payload, payload_len, FOLDER) &&
	      listing_tells_of(payload, payload_len, 9) &&
	      !listing_tells_of(payload, payload_len, 10));
	listings_drop(&listings, SHARE, 9);
	CHECK(!listings.count && forgotten() == 17);
	add_usual();
	begin(FOLDER + 1); /* one file, in two folders */
	put("three", 8);
	CHECK(add(true));
	listings_drop(&listings, SHARE, 8);
	CHECK(!listings.count && forgotten() + forgotten() == 25);
	add_usual();
	listings_drop(&listings, SHARE, FOLDER);
	CHECK(!listings.count && forgotten() == 17);
	/* One that comes again takes the place of the first. */
	add_usual();
	add_usual();
	CHECK(listings.count == 1 && forgotten() == 17 && !forgotten());
	CHECK(add(false) && listings.count == 1 && forgotten() == 17);
	listings_release(&listings);
}

static void there_is_an_end_to_what_is_kept(void)
{
	uint64_t sum = 0, one;

	listings_init(&listings);
	for (uint64_t i = 1; i <= LISTING_COUNT_MAX + 5; i++) {
		begin(i);
		put("x", 1000000 + i);
		CHECK(add(true));
	}
	CHECK(listings.count == LISTING_COUNT_MAX);
	while ((one = forgotten()))
		sum += one - 1000000;
	CHECK(sum == 1 + 2 + 3 + 4 + 5); /* the oldest */
	listings_release(&listings);
	CHECK(!listings.bytes && list_empty(&listings.owed));
}

static void what_is_no_listing_is_refused(void)
{
	size_t whole;

	listings_init(&listings);
	begin_at(FUSE_READDIR, 0, FOLDER);
	CHECK(!add(true));
	begin_at(FUSE_READDIRPLUS, 2, FOLDER);
	CHECK(!add(true));
	begin(0);
	CHECK(!add(true));
	begin(FOLDER);
	put("one", 8);
	whole = payload_len;
	for (payload_len = 0; payload_len < whole; payload_len++) {
		/* Without an entry it is an empty folder. */
		CHECK(add(true) == (payload_len == 24));
		CHECK(!listing_tells_of(payload, payload_len, 8));
	}
	listings_release(&listings);
}

int main(void)
{
	RUN(a_listing_is_given_once_and_then_the_kernels);
	RUN(one_of_some_files_is_told_of);
	RUN(a_given_listing_stays_as_names_for_a_while);
	RUN(names_go_with_the_first_entry_that_does);
	RUN(what_the_server_answered_is_kept_if_it_lasts);
	RUN(the_end_of_a_part_is_not_known);
	RUN(names_are_found_in_it_once);
	RUN(what_is_not_whole_says_nothing_of_other_names);
	RUN(whatever_changes_an_entry_drops_the_listing);
	RUN(there_is_an_end_to_what_is_kept);
	RUN(what_is_no_listing_is_refused);
	return DONE();
}
