/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_relay_listing.c - a listing that came ahead, and all that is done with
 * it; what is owed afterwards is what nobody was given
 */
#include "guest/relay_listing.h"

#include <string.h>

#include "lib/fuzz.h"

static void look_up(struct listings *listings, const uint8_t *name, size_t len)
{
	struct fuse_in_header head = { .opcode = FUSE_LOOKUP, .nodeid = 7 };
	uint8_t request[sizeof(head) + 256] = { 0 };
	struct fuse_entry_out out;

	memcpy(request, &head, sizeof(head));
	memcpy(request + sizeof(head), name, len < 255 ? len : 255);
	listings_lookup(listings, 0, request, sizeof(request), &out);
}

static void list(struct listings *listings)
{
	struct {
		struct fuse_in_header head;
		struct fuse_read_in in;
	} request = { .head = { .opcode = FUSE_READDIRPLUS, .nodeid = 7 },
		      .in = { .size = 4096 } };
	volatile unsigned sum = 0;
	const uint8_t *bytes;
	size_t len;

	if (!listings_find(listings, 0, &request, sizeof(request), 1, &bytes,
			   &len))
		return;
	FUZZ_CHECK(len <= 4096);
	for (size_t i = 0; i < len; i++)
		sum += bytes[i]; /* for the sanitizer */
	listings_given(listings, 0, 7, 1, len & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t room[512];
	struct listings listings;
	unsigned share;

	listings_init(&listings);
	listing_tells_of(data, size, 9);
	listings_add(&listings, 0, data, size, size & 1);
	listings_add(&listings, 0, data, size, true);
	look_up(&listings, data, size);
	if (size > 200)
		look_up(&listings, data + 24 + 128 + 24, size - 176);
	list(&listings);
	list(&listings);
	listings_keep(&listings, 0, data, size, 1);
	list(&listings);
	listings_drop(&listings, 0, 8);
	listings_clear(&listings);
	FUZZ_CHECK(listings.bytes == 0 && listings.count == 0);
	while (!list_empty(&listings.owed))
		FUZZ_CHECK(listings_forget(&listings, room, sizeof(room),
					   &share) <= sizeof(room));
	listings_release(&listings);
	return 0;
}
