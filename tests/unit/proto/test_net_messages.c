/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_net_messages.c - bounds and values of the network port's messages;
 * their bytes are in tests/protocol
 */
#include "proto/net_messages.h"

#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"
#include "proto/frame.h"
#include "proto/mux.h"

static uint8_t bytes[NET_MESSAGE_MAX];

static int again(const struct net_message *message, struct net_message *out)
{
	long len = net_message_encode(message, bytes, sizeof(bytes));

	return len < 0 ? -1 : net_message_decode(bytes, (size_t)len, out);
}

static void an_address_has_one_form(void)
{
	struct net_message m = { .type = NET_OPEN }, out;

	m.open.family = 4;
	memcpy(m.open.address, "\x01\x02\x03\x04", 4);
	m.open.port = 443;
	m.open.origin = NET_ORIGIN_FORWARDED;
	CHECK(again(&m, &out) == 0);
	CHECK(out.open.port == 443 && out.open.origin == 1);
	CHECK(!memcmp(out.open.address, m.open.address, 16));
	for (size_t i = 4; i < NET_ADDRESS_BYTES; i++) {
		m.open.address[i] = 1;
		CHECK(again(&m, &out) == -1);
		m.open.address[i] = 0;
	}
	m.open.origin = 2;
	CHECK(again(&m, &out) == -1);
	m.open.origin = 0;
	for (unsigned family = 0; family < 256; family++) {
		m.open.family = (uint8_t)family;
		CHECK(again(&m, &out) == (family == 4 || family == 6 ? 0 : -1));
	}
	m.open.family = 6;
	memset(m.open.address, 0xff, NET_ADDRESS_BYTES);
	CHECK(again(&m, &out) == 0);
}

static void dns_messages_are_bounded_both_ways(void)
{
	static uint8_t dns[NET_DNS_MAX + 1];
	struct net_message m = { .type = NET_DNS_QUERY }, out;

	for (int type = NET_DNS_QUERY; type <= NET_DNS_ANSWER; type++) {
		size_t len_at = type == NET_DNS_QUERY ? 7 : 6;

		m.type = (enum net_message_type)type;
		m.dns.bytes = dns;
		m.dns.len = NET_DNS_MAX;
		CHECK(again(&m, &out) == 0);
		CHECK(out.dns.len == NET_DNS_MAX);
		/* One more byte, and a length that says so. */
		bytes[len_at] = 1;
		CHECK(net_message_decode(bytes, len_at + 2 + NET_DNS_MAX + 1,
					 &out) == -1);
		m.dns.len = NET_DNS_MAX + 1;
		CHECK(again(&m, &out) == -1);
		m.dns.len = 0;
		m.dns.bytes = NULL;
		CHECK(again(&m, &out) == 0 && out.dns.len == 0);
	}
	m = (struct net_message){ .type = NET_DNS_QUERY,
				  .dns = { .transport = 2 } };
	CHECK(again(&m, &out) == -1);
}

static void lists_are_bounded_both_ways(void)
{
	struct net_message m = { .type = NET_FORWARDS }, out;

	m.forwards.count = NET_FORWARDS_MAX;
	for (unsigned i = 0; i < NET_FORWARDS_MAX; i++)
		m.forwards.ports[i] = (uint16_t)(i * 255);
	CHECK(again(&m, &out) == 0);
	CHECK(!memcmp(m.forwards.ports, out.forwards.ports,
		      sizeof(m.forwards.ports)));
	bytes[2] = 1; /* 257, and bytes for it */
	CHECK(net_message_decode(bytes, 6 + 2 * 257, &out) == -1);
	m.forwards.count++;
	CHECK(again(&m, &out) == -1);

	m = (struct net_message){ .type = NET_SOCKETS };
	m.sockets.count = NET_SOCKETS_MAX;
	for (unsigned i = 0; i < NET_SOCKETS_MAX; i++)
		m.sockets.paths[i] = i % 2 ? "/run/a.sock" : "";
	CHECK(again(&m, &out) == 0);
	CHECK(!strcmp(out.sockets.paths[15], "/run/a.sock"));
	bytes[2]++;
	CHECK(net_message_decode(bytes, sizeof(bytes), &out) == -1);
	m.sockets.count++;
	CHECK(again(&m, &out) == -1);

	m = (struct net_message){ .type = NET_OPEN_SOCKET };
	m.open_socket.index = NET_SOCKETS_MAX - 1;
	CHECK(again(&m, &out) == 0);
	m.open_socket.index = NET_SOCKETS_MAX;
	CHECK(again(&m, &out) == -1);
}

static void a_count_alone_is_not_a_list(void)
{
	static const uint8_t forwards[] = { NET_FORWARDS, 0, 2, 0, 0, 0, 1, 0 };
	static const uint8_t sockets[] = { NET_SOCKETS, 0, 1, 0, 0, 0, 'a' };
	struct net_message out;

	CHECK(net_message_decode(forwards, sizeof(forwards), &out) == -1);
	CHECK(net_message_decode(sockets, sizeof(sockets), &out) == -1);
}

static void unknown_types_are_refused(void)
{
	struct net_message m = { .type = NET_MESSAGE_TYPES }, out;
	uint8_t none[8] = { 0 };

	CHECK(net_message_encode(&m, none, sizeof(none)) == -1);
	m.type = (enum net_message_type)0;
	CHECK(net_message_encode(&m, none, sizeof(none)) == -1);
	CHECK(net_message_decode(none, 2, &out) == -1);
	CHECK(net_message_decode(none, 0, &out) == -1);
	none[0] = NET_MESSAGE_TYPES;
	CHECK(net_message_decode(none, 2, &out) == -1);
	none[0] = NET_OPENED;
	CHECK(net_message_decode(none, 6, &out) == 0);
	none[1] = 1;
	CHECK(net_message_decode(none, 6, &out) == -1);
	for (int type = NET_HELLO; type < NET_MESSAGE_TYPES; type++)
		CHECK(strcmp(net_message_name((enum net_message_type)type),
			     "unknown"));
	CHECK(!strcmp(net_message_name((enum net_message_type)999), "unknown"));
}

static void the_limits_hold_what_they_name(void)
{
	CHECK(mux_net_limits.streams_max == NET_STREAMS_MAX);
	CHECK(mux_net_limits.message_max == NET_MESSAGE_MAX);
	CHECK(NET_CUT_BYTES > 2 * FRAME_HEADER_BYTES + FRAME_DATA_MAX);
	CHECK(NET_CUT_BYTES > 2 * FRAME_HEADER_BYTES + NET_MESSAGE_MAX);
	CHECK(NET_MARKER_BYTES == MUX_MARKER_BYTES);
}

int main(void)
{
	RUN(an_address_has_one_form);
	RUN(dns_messages_are_bounded_both_ways);
	RUN(lists_are_bounded_both_ways);
	RUN(a_count_alone_is_not_a_list);
	RUN(unknown_types_are_refused);
	RUN(the_limits_hold_what_they_name);
	return DONE();
}
