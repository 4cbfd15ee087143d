/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_messages.c - a message of the network port that decodes encodes to
 * the same bytes, and what it points to lies in them
 */
#include "proto/net_messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/fuzz.h"

static void check_inside(const void *bytes, size_t len, const uint8_t *data,
			 size_t size)
{
	const uint8_t *at = bytes;

	FUZZ_CHECK(at >= data && len <= size &&
		   (size_t)(at - data) <= size - len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_message m;
	uint8_t *again;

	if (net_message_decode(data, size, &m) < 0)
		return 0;
	if (m.type == NET_DNS_QUERY || m.type == NET_DNS_ANSWER) {
		FUZZ_CHECK(m.dns.len <= NET_DNS_MAX);
		check_inside(m.dns.bytes, m.dns.len, data, size);
	}
	if (m.type == NET_SOCKETS) {
		FUZZ_CHECK(m.sockets.count <= NET_SOCKETS_MAX);
		for (uint32_t i = 0; i < m.sockets.count; i++)
			check_inside(m.sockets.paths[i],
				     strlen(m.sockets.paths[i]) + 1, data,
				     size);
	}
	again = xmalloc(size);
	FUZZ_CHECK(net_message_encode(&m, again, size) == (long)size);
	FUZZ_CHECK(!memcmp(data, again, size));
	FUZZ_CHECK(net_message_encode(&m, again, size - 1) == -1);
	free(again);
	return 0;
}
