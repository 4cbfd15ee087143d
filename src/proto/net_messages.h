/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_messages.h - typed messages between bawn-net and the net relay
 * (PROTOCOL.md §10)
 *
 * The same shape as messages.h: one struct, one row in the table for each.
 * Decoded strings and DNS messages point into the bytes given to
 * net_message_decode() and live as long as those; the rest is copied.
 *
 * What a decoder accepts is well formed, not sensible: versions, stream
 * numbers, ports, paths and the DNS messages are for its user to check.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NET_VERSION 1
#define NET_MARKER_BYTES 32
#define NET_ADDRESS_BYTES 16
#define NET_DNS_MAX 4096
#define NET_FORWARDS_MAX 256
#define NET_SOCKETS_MAX 16
#define NET_MESSAGE_MAX 8192 /* of one encoded message */
#define NET_STREAMS_MAX 16384
#define NET_WINDOW (1024u * 1024)
/* So many bytes 0xff, and the server has met something that is no frame. */
#define NET_CUT_BYTES 40960

enum net_message_type {
	NET_HELLO = 1,   /* guest: version, features */
	NET_WELCOME,     /* host: version, marker of the next server */
	NET_OPEN,        /* guest: a program connects to an address */
	NET_OPEN_SOCKET, /* guest: a program connects to a shared socket */
	NET_CONNECT,     /* host: connect to a port of the guest */
	NET_OPENED,      /* both: the other side is connected */
	NET_DNS_QUERY,   /* guest */
	NET_DNS_ANSWER,  /* host */
	NET_FORWARDS,    /* host: the list of localhost ports */
	NET_SOCKETS,     /* host: the list of shared Unix sockets */

	NET_MESSAGE_TYPES,
};

#define NET_FEATURE_SLOTS 1u /* the relay reads them: slots.h */

struct net_hello {
	uint32_t version;
	uint32_t features; /* unknown bits are ignored */
};

struct net_welcome {
	uint32_t version;
	uint8_t next_marker[NET_MARKER_BYTES];
};

enum net_origin {
	NET_ORIGIN_PROCESS,   /* of the guest itself */
	NET_ORIGIN_FORWARDED, /* of a container in it */
};

struct net_open {
	uint32_t stream;
	uint8_t family; /* 4 or 6 */
	/* In the order of the network; of an IPv4 address the first 4. */
	uint8_t address[NET_ADDRESS_BYTES];
	uint16_t port;
	uint8_t origin; /* enum net_origin */
};

struct net_open_socket {
	uint32_t stream;
	uint16_t index; /* in the list of NET_SOCKETS */
};

struct net_connect {
	uint32_t stream;
	uint16_t port;
};

struct net_opened {
	uint32_t stream;
};

enum net_transport {
	NET_UDP,
	NET_TCP,
};

struct net_dns {
	uint32_t query;
	uint8_t transport; /* enum net_transport; of a query only */
	uint16_t len;      /* at most NET_DNS_MAX */
	const uint8_t *bytes;
};

struct net_forwards {
	uint32_t count;
	uint16_t ports[NET_FORWARDS_MAX];
};

struct net_sockets {
	uint32_t count;
	const char *paths[NET_SOCKETS_MAX];
};

struct net_message {
	enum net_message_type type;
	union {
		struct net_hello hello;
		struct net_welcome welcome;
		struct net_open open;
		struct net_open_socket open_socket;
		struct net_connect connect;
		struct net_opened opened;
		struct net_dns dns;
		struct net_forwards forwards;
		struct net_sockets sockets;
	};
};

/* Bytes written, or -1 when it does not fit. */
long net_message_encode(const struct net_message *message, void *out,
			size_t size);
/* Strict: unknown type, short, trailing bytes, bad counts are -1. */
int net_message_decode(const void *bytes, size_t len,
		       struct net_message *message);
const char *net_message_name(enum net_message_type type);
