/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_internal.h - what the parts of the net relay share
 *
 * net_relay.c          the loop, the port, epochs
 * net_relay_accept.c   listeners, and where a connection was meant to go
 * net_relay_conn.c     a connection and its stream
 * net_relay_dns.c      questions for names
 * net_relay_sockets.c  shared Unix sockets
 */
#pragma once

#include <netinet/in.h>

#include "base/list.h"
#include "base/loop.h"
#include "guest/net_input.h"
#include "guest/net_relay.h"
#include "proto/mux.h"

struct net_conn;
struct net_relay;

enum net_state {
	NET_DEAF,     /* drops everything up to the answer to its call */
	NET_GREETING, /* HELLO was sent; programs wait */
	NET_SERVED,   /* WELCOME came */
};

/* A listener is held while nobody serves; then those that wait are refused. */
struct net_listener {
	struct net_relay *relay;
	struct source source; /* fd owned; -1: none */
	/* One connection; takes fd. */
	void (*on_connection)(struct net_listener *listener, int fd);
	uint16_t index; /* of a shared socket */
};

#define NET_QUERIES_MAX 1024

struct net_dns_conn;

/* Who waits for the answer to a question. */
struct net_query {
	uint32_t number;           /* 0: nobody */
	struct net_dns_conn *conn; /* over TCP; else: */
	struct sockaddr_in client; /* who asked */
	struct in_addr local;      /* and whom: the answer comes from there */
};

struct net_names {
	struct source source; /* UDP; fd owned */
	uint32_t last_number;
	struct net_query queries[NET_QUERIES_MAX]; /* by number */
	struct list conns;                         /* over TCP */
	unsigned conn_count;
};

struct net_socket {
	char *path; /* owned; NULL: free */
	struct net_listener listener;
	struct source report; /* fd owned: of the child that binds it; or -1 */
};

/* DATA of one connection, in the port's buffer: sent together. */
#define NET_GATHER_MAX 32
struct net_gather {
	struct net_conn *conn; /* NULL: nothing is collected */
	struct iovec iov[NET_GATHER_MAX];
	int count;
	size_t len;
};

struct net_relay {
	enum net_state state;
	struct loop *loop;
	struct net_shared *shared;
	struct mux mux;
	const uint8_t *slots; /* NULL: DATA comes on the port only */
	uint32_t last_stream; /* odd */
	struct source port;
	struct timer port_again; /* the host's end is closed just now */
	struct net_input in;
	uint8_t *out; /* owned: bytes for the port */
	size_t out_len, out_sent;
	size_t cut_left; /* bytes 0xff to send before anything else */
	struct call call;
	bool call_due; /* it is sent (again) after those */
	struct net_listener tcp, forward, forward6;
	struct net_names names;
	struct net_socket sockets[NET_SOCKETS_MAX];
	struct list conns; /* struct net_conn */
	struct net_gather gather;
	unsigned conn_count;
	struct timer refuse; /* nobody serves: what waits is refused */
	struct timer pause;  /* no descriptor is left: accept later */
	struct net_forwards forwards;
	bool forwards_known; /* the rules are for these ports */
	bool accepting;      /* connections and questions are taken */
};

/* net_relay.c */
/* -1: the host does not read; the caller gives up what it was about to do. */
int net_relay_send(struct net_relay *relay, const struct net_message *message);
/* The host broke the protocol: it must begin anew. */
void net_relay_cut(struct net_relay *relay, const char *why);
uint32_t net_relay_next_stream(struct net_relay *relay);

/* net_relay_accept.c */
/* -1 when it does not work at all. */
int net_accept_start(struct net_relay *relay, const int fds[NET_RELAY_FDS]);
void net_listener_init(struct net_listener *listener, struct net_relay *relay,
		       int fd,
		       void (*on_connection)(struct net_listener *, int));
/* Starts to watch it; -1 when it cannot be. */
int net_listener_start(struct net_listener *listener);
void net_listener_stop(struct net_listener *listener);
/* After every change of what may be accepted. */
void net_accept_update(struct net_relay *relay);

/* net_relay_conn.c */
/* Takes fd. The stream's OPEN was sent. */
void net_conn_add(struct net_relay *relay, int fd, struct mux_stream *stream);
/* The host wants to reach a port of the guest. */
void net_conn_connect(struct net_relay *relay,
		      const struct net_connect *connect);
/* Of the mux. */
void net_conn_on_stream(struct mux_stream *stream);
size_t net_conn_on_data(struct mux_stream *stream, const uint8_t *bytes,
			size_t len);
/* Before the port's buffer is used for something else. */
void net_conn_flush(struct net_relay *relay);
/* Resets every connection; their streams are gone or will be. */
void net_conn_reset_all(struct net_relay *relay);
/* Resets the ones with most in memory until all of it is within bounds. */
void net_conn_bound_memory(struct net_relay *relay);
/* The program sees a reset. */
void net_conn_refuse(int fd);

/* net_relay_dns.c */
int net_dns_start(struct net_relay *relay, int fd);
/* A connection to port 53; takes fd. */
void net_dns_accept(struct net_relay *relay, int fd);
void net_dns_answer(struct net_relay *relay, const struct net_dns *answer);
/* Questions are read while somebody answers them. */
void net_dns_update(struct net_relay *relay);
/* Answers what waits with an error. */
void net_dns_refuse(struct net_relay *relay);
void net_dns_forget(struct net_relay *relay);

/* net_relay_sockets.c */
void net_sockets_init(struct net_relay *relay);
void net_sockets_set(struct net_relay *relay, const struct net_sockets *list);
