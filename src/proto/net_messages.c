/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_messages.c - typed messages between bawn-net and the net relay
 * (PROTOCOL.md §10)
 *
 * A decoder reads all its fields and says whether their values are allowed;
 * that they were inside the message, and that nothing follows them, is tested
 * once for all of them.
 */
#include "proto/net_messages.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "proto/cursor.h"

#define IPV4_BYTES 4

typedef void encode_fn(struct writer *w, const struct net_message *m);
typedef bool decode_fn(struct cursor *c, struct net_message *m);

static void copy_bytes(struct cursor *c, uint8_t *dst, size_t len)
{
	const void *bytes = cursor_bytes(c, len);

	if (bytes)
		memcpy(dst, bytes, len);
}

static void encode_hello(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->hello.version);
	writer_u32(w, m->hello.features);
}

static bool decode_hello(struct cursor *c, struct net_message *m)
{
	m->hello.version = cursor_u32(c);
	m->hello.features = cursor_u32(c);
	return true;
}

static void encode_welcome(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->welcome.version);
	writer_bytes(w, m->welcome.next_marker, NET_MARKER_BYTES);
}

static bool decode_welcome(struct cursor *c, struct net_message *m)
{
	m->welcome.version = cursor_u32(c);
	copy_bytes(c, m->welcome.next_marker, NET_MARKER_BYTES);
	return true;
}

/* One address is one sequence of bytes: what is not used is 0. */
static bool is_address(const struct net_open *open)
{
	static const uint8_t zeros[NET_ADDRESS_BYTES];

	if (open->family == 6)
		return true;
	return open->family == 4 && !memcmp(open->address + IPV4_BYTES, zeros,
					    NET_ADDRESS_BYTES - IPV4_BYTES);
}

static void encode_open(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->open.stream);
	writer_u8(w, m->open.family);
	writer_bytes(w, m->open.address, NET_ADDRESS_BYTES);
	writer_u16(w, m->open.port);
	writer_u8(w, m->open.origin);
}

static bool decode_open(struct cursor *c, struct net_message *m)
{
	m->open.stream = cursor_u32(c);
	m->open.family = cursor_u8(c);
	copy_bytes(c, m->open.address, NET_ADDRESS_BYTES);
	m->open.port = cursor_u16(c);
	m->open.origin = cursor_u8(c);
	return is_address(&m->open) && m->open.origin <= NET_ORIGIN_FORWARDED;
}

static void encode_open_socket(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->open_socket.stream);
	writer_u16(w, m->open_socket.index);
}

static bool decode_open_socket(struct cursor *c, struct net_message *m)
{
	m->open_socket.stream = cursor_u32(c);
	m->open_socket.index = cursor_u16(c);
	return m->open_socket.index < NET_SOCKETS_MAX;
}

static void encode_connect(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->connect.stream);
	writer_u16(w, m->connect.port);
}

static bool decode_connect(struct cursor *c, struct net_message *m)
{
	m->connect.stream = cursor_u32(c);
	m->connect.port = cursor_u16(c);
	return true;
}

static void encode_opened(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->opened.stream);
}

static bool decode_opened(struct cursor *c, struct net_message *m)
{
	m->opened.stream = cursor_u32(c);
	return true;
}

static void write_dns(struct writer *w, const struct net_dns *dns)
{
	if (dns->len > NET_DNS_MAX)
		w->bad = true;
	writer_u16(w, dns->len);
	if (dns->len)
		writer_bytes(w, dns->bytes, dns->len);
}

static bool read_dns(struct cursor *c, struct net_dns *dns)
{
	dns->len = cursor_u16(c);
	dns->bytes = cursor_bytes(c, dns->len);
	return dns->len <= NET_DNS_MAX;
}

static void encode_dns_query(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->dns.query);
	writer_u8(w, m->dns.transport);
	write_dns(w, &m->dns);
}

static bool decode_dns_query(struct cursor *c, struct net_message *m)
{
	m->dns.query = cursor_u32(c);
	m->dns.transport = cursor_u8(c);
	return m->dns.transport <= NET_TCP && read_dns(c, &m->dns);
}

static void encode_dns_answer(struct writer *w, const struct net_message *m)
{
	writer_u32(w, m->dns.query);
	write_dns(w, &m->dns);
}

static bool decode_dns_answer(struct cursor *c, struct net_message *m)
{
	m->dns.query = cursor_u32(c);
	return read_dns(c, &m->dns);
}

static void encode_forwards(struct writer *w, const struct net_message *m)
{
	if (m->forwards.count > NET_FORWARDS_MAX) {
		w->bad = true;
		return;
	}
	writer_u32(w, m->forwards.count);
	for (uint32_t i = 0; i < m->forwards.count; i++)
		writer_u16(w, m->forwards.ports[i]);
}

static bool decode_forwards(struct cursor *c, struct net_message *m)
{
	m->forwards.count = cursor_u32(c);
	if (m->forwards.count > NET_FORWARDS_MAX)
		return false;
	for (uint32_t i = 0; i < m->forwards.count; i++)
		m->forwards.ports[i] = cursor_u16(c);
	return true;
}

static void encode_sockets(struct writer *w, const struct net_message *m)
{
	if (m->sockets.count > NET_SOCKETS_MAX) {
		w->bad = true;
		return;
	}
	writer_u32(w, m->sockets.count);
	for (uint32_t i = 0; i < m->sockets.count; i++)
		writer_str(w, m->sockets.paths[i]);
}

static bool decode_sockets(struct cursor *c, struct net_message *m)
{
	m->sockets.count = cursor_u32(c);
	if (m->sockets.count > NET_SOCKETS_MAX)
		return false;
	for (uint32_t i = 0; i < m->sockets.count; i++)
		m->sockets.paths[i] = cursor_str(c);
	return true;
}

static const struct {
	const char *name;
	encode_fn *encode;
	decode_fn *decode;
} table[] = {
	[NET_HELLO] = { "HELLO", encode_hello, decode_hello },
	[NET_WELCOME] = { "WELCOME", encode_welcome, decode_welcome },
	[NET_OPEN] = { "OPEN", encode_open, decode_open },
	[NET_OPEN_SOCKET] = { "OPEN_SOCKET", encode_open_socket,
			      decode_open_socket },
	[NET_CONNECT] = { "CONNECT", encode_connect, decode_connect },
	[NET_OPENED] = { "OPENED", encode_opened, decode_opened },
	[NET_DNS_QUERY] = { "DNS_QUERY", encode_dns_query, decode_dns_query },
	[NET_DNS_ANSWER] = { "DNS_ANSWER", encode_dns_answer,
			     decode_dns_answer },
	[NET_FORWARDS] = { "FORWARDS", encode_forwards, decode_forwards },
	[NET_SOCKETS] = { "SOCKETS", encode_sockets, decode_sockets },
};
_Static_assert(ARRAY_SIZE(table) == NET_MESSAGE_TYPES, "a row for each type");

static bool known(uint32_t type)
{
	return type < NET_MESSAGE_TYPES && table[type].name;
}

long net_message_encode(const struct net_message *message, void *out,
			size_t size)
{
	struct writer w = writer_over(out, size);

	if (!known(message->type))
		return -1;
	writer_u16(&w, (uint16_t)message->type);
	table[message->type].encode(&w, message);
	return w.bad ? -1 : (long)writer_len(&w);
}

int net_message_decode(const void *bytes, size_t len,
		       struct net_message *message)
{
	struct cursor c = cursor_over(bytes, len);
	uint16_t type = cursor_u16(&c);

	memset(message, 0, sizeof(*message));
	if (c.bad || !known(type))
		return -1;
	message->type = (enum net_message_type)type;
	if (!table[type].decode(&c, message) || !cursor_done(&c))
		return -1;
	return 0;
}

const char *net_message_name(enum net_message_type type)
{
	return known((uint32_t)type) ? table[type].name : "unknown";
}
