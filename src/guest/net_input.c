/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_input.c - what the host sends on the network port, up to a marker
 */
#include "guest/net_input.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A marker that is not complete yet may have begun so far back. */
#define PAST (NET_MARKER_BYTES - 1)

void net_input_init(struct net_input *in, size_t size)
{
	*in = (struct net_input){ .bytes = xmalloc(PAST + size),
				  .size = PAST + size };
}

void net_input_release(struct net_input *in)
{
	free(in->bytes);
	*in = (struct net_input){ 0 };
}

void net_input_reset(struct net_input *in)
{
	in->len = in->fed = in->held = 0;
}

uint8_t *net_input_room(struct net_input *in, size_t *size)
{
	size_t gone = in->len > PAST ? in->len - PAST : 0;

	/* Never: what is held back is shorter than a marker. */
	if (gone > in->fed)
		gone = in->fed;
	memmove(in->bytes, in->bytes + gone, in->len - gone);
	in->len -= gone;
	in->fed -= gone;
	*size = in->size - in->len;
	return in->bytes + in->len;
}

void net_input_added(struct net_input *in, size_t len)
{
	in->len += len;
	in->held = 0; /* it is found out anew */
}

/* How many of the last bytes may be the beginning of this marker. */
static size_t count_likely(const struct net_input *in,
			   const uint8_t marker[NET_MARKER_BYTES])
{
	const uint8_t *end = in->bytes + in->len;
	size_t len = in->len < NET_MARKER_BYTES ? in->len : NET_MARKER_BYTES;

	for (; len >= NET_INPUT_LIKELY; len--) {
		if (*(end - len) == marker[0] &&
		    !memcmp(end - len, marker, len))
			return len;
	}
	return 0;
}

bool net_input_marker(struct net_input *in,
		      const uint8_t (*markers)[NET_MARKER_BYTES],
		      unsigned count, uint8_t found[NET_MARKER_BYTES])
{
	size_t unfed = in->len - in->fed;

	in->held = 0;
	for (unsigned i = 0; i < count; i++) {
		size_t likely = count_likely(in, markers[i]);

		if (likely == NET_MARKER_BYTES) {
			memcpy(found, markers[i], NET_MARKER_BYTES);
			return true;
		}
		if (likely > in->held)
			in->held = likely;
	}
	if (in->held > unfed)
		in->held = unfed;
	return false;
}

const uint8_t *net_input_take(struct net_input *in, size_t *len)
{
	const uint8_t *bytes = in->bytes + in->fed;

	*len = in->len - in->held - in->fed;
	in->fed += *len;
	return bytes;
}
