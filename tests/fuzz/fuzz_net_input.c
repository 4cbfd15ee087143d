/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_input.c - what the host sends on the network port: every byte is
 * handed out once and in order, until a marker is found, which really is one
 *
 * The first 32 bytes are the marker, then each byte is how long the next piece
 * is (as far as there is something), so that all cuts occur.
 */
#include "guest/net_input.h"

#include <string.h>

#include "base/mem.h"
#include "lib/fuzz.h"

#define PIECE_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t markers[1][NET_MARKER_BYTES], found[NET_MARKER_BYTES];
	struct net_input in;
	uint8_t *seen, *out;
	size_t len = 0, done = 0;

	if (size <= NET_MARKER_BYTES)
		return 0;
	memcpy(markers[0], data, NET_MARKER_BYTES);
	data += NET_MARKER_BYTES;
	size -= NET_MARKER_BYTES;
	seen = xmalloc(size);
	out = xmalloc(size);
	net_input_init(&in, PIECE_MAX);
	while (size > 1) {
		size_t piece = data[0] % PIECE_MAX, room, got;
		uint8_t *to = net_input_room(&in, &room);
		const uint8_t *bytes;

		data++;
		size--;
		if (piece > size)
			piece = size;
		FUZZ_CHECK(room >= PIECE_MAX);
		memcpy(to, data, piece);
		memcpy(seen + len, data, piece);
		len += piece;
		data += piece;
		size -= piece;
		net_input_added(&in, piece);
		if (net_input_marker(&in, markers, 1, found)) {
			FUZZ_CHECK(len >= NET_MARKER_BYTES);
			FUZZ_CHECK(!memcmp(seen + len - NET_MARKER_BYTES,
					   markers[0], NET_MARKER_BYTES));
			break;
		}
		bytes = net_input_take(&in, &got);
		memcpy(out + done, bytes, got);
		done += got;
		FUZZ_CHECK(len - done < NET_MARKER_BYTES);
	}
	FUZZ_CHECK(done <= len && !memcmp(seen, out, done));
	net_input_release(&in);
	free(seen);
	free(out);
	return 0;
}
