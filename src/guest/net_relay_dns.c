/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_dns.c - questions for names
 *
 * Port 53 of every address leads here. The relay does not look into a question
 * or an answer: it remembers who asked. What is never answered is forgotten
 * when its place is needed.
 */
#include "guest/net_relay_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"

#define QUESTIONS_PER_EVENT 32
#define REFUSED_MAX 1024
#define REFUSE_MS 5000
#define HEADER_BYTES 12 /* of a DNS message */
#define LENGTH_BYTES 2  /* before each one, over TCP */
#define CONNS_MAX 64
#define IDLE_MS 30000

struct net_dns_conn {
	struct net_relay *relay;
	struct list link;
	struct source source; /* fd owned */
	struct timer idle;
	uint32_t number; /* of the question that has no answer yet; or 0 */
	size_t len;
	uint8_t bytes[LENGTH_BYTES + NET_DNS_MAX];
};

union packet_info {
	char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct cmsghdr align;
};

static struct net_query *new_query(struct net_relay *relay)
{
	struct net_names *names = &relay->names;
	struct net_query *query;

	if (!++names->last_number)
		names->last_number = 1;
	query = &names->queries[names->last_number % NET_QUERIES_MAX];
	*query = (struct net_query){ .number = names->last_number };
	return query;
}

static int ask(struct net_relay *relay, struct net_query *query,
	       enum net_transport transport, const uint8_t *bytes, size_t len)
{
	struct net_message message = {
		.type = NET_DNS_QUERY,
		.dns = { .query = query->number,
			 .transport = (uint8_t)transport,
			 .len = (uint16_t)len,
			 .bytes = bytes },
	};

	if (!net_relay_send(relay, &message))
		return 0;
	query->number = 0;
	return -1;
}

/* From the address that was asked: the kernel turns it back. */
static void answer_udp(const struct net_names *names,
		       const struct net_query *query, const uint8_t *bytes,
		       size_t len)
{
	struct in_pktinfo info = { .ipi_spec_dst = query->local };
	struct sockaddr_in client = query->client;
	union packet_info control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr message = { .msg_name = &client,
				  .msg_namelen = sizeof(client),
				  .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_IP;
	header->cmsg_type = IP_PKTINFO;
	header->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(header), &info, sizeof(info));
	if (sendmsg(names->source.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) <
	    0)
		log_debug("answer: %s",
			  strerror(errno)); /* who asked is gone */
}

static struct in_addr asked_address(struct msghdr *message)
{
	struct in_pktinfo info = { 0 };

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level == SOL_IP &&
		    header->cmsg_type == IP_PKTINFO)
			memcpy(&info, CMSG_DATA(header), sizeof(info));
	}
	return info.ipi_addr;
}

/* -1 when there is none; 0 when it was too long or short to be one. */
static ssize_t read_question(const struct net_names *names,
			     struct net_query *query,
			     uint8_t bytes[NET_DNS_MAX])
{
	union packet_info control;
	struct iovec iov = { bytes, NET_DNS_MAX };
	struct msghdr message = { .msg_name = &query->client,
				  .msg_namelen = sizeof(query->client),
				  .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(names->source.fd, &message, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? -1 : 0;
	query->local = asked_address(&message);
	return message.msg_flags & MSG_TRUNC || n < HEADER_BYTES ? 0 : n;
}

/* The question comes back as an answer that says "not now". */
static void refuse(const struct net_names *names, const struct net_query *query,
		   uint8_t *bytes, size_t len)
{
	bytes[2] |= 0x80;                            /* an answer */
	bytes[3] = (uint8_t)((bytes[3] & 0xf0) | 2); /* SERVFAIL */
	answer_udp(names, query, bytes, len);
}

static void on_question(struct source *source, uint32_t events)
{
	struct net_relay *relay =
		CONTAINER_OF(source, struct net_relay, names.source);
	uint8_t bytes[NET_DNS_MAX];

	if (relay->state != NET_SERVED) {
		if (!relay->refuse.loop)
			timer_start(relay->loop, &relay->refuse, REFUSE_MS);
		loop_wait_for(source, 0);
		return;
	}
	for (int i = 0; i < QUESTIONS_PER_EVENT; i++) {
		struct net_query from = { 0 }, *query;
		ssize_t n = read_question(&relay->names, &from, bytes);

		if (n < 0)
			return;
		if (n == 0)
			continue;
		query = new_query(relay);
		query->client = from.client;
		query->local = from.local;
		if (ask(relay, query, NET_UDP, bytes, (size_t)n))
			refuse(&relay->names, &from, bytes, (size_t)n);
	}
}

void net_dns_refuse(struct net_relay *relay)
{
	uint8_t bytes[NET_DNS_MAX];

	for (int i = 0; i < REFUSED_MAX; i++) {
		struct net_query from = { 0 };
		ssize_t n = read_question(&relay->names, &from, bytes);

		if (n < 0)
			break;
		if (n > 0)
			refuse(&relay->names, &from, bytes, (size_t)n);
	}
	loop_wait_for(&relay->names.source, EPOLLIN);
}

void net_dns_update(struct net_relay *relay)
{
	loop_wait_for(&relay->names.source,
		      relay->accepting || relay->state != NET_SERVED ? EPOLLIN
								     : 0);
}

static void close_conn(struct net_dns_conn *conn)
{
	struct net_names *names = &conn->relay->names;
	struct net_query *query =
		&names->queries[conn->number % NET_QUERIES_MAX];

	if (conn->number && query->number == conn->number)
		query->number = 0;
	timer_stop(&conn->idle);
	loop_del(&conn->source);
	close(conn->source.fd);
	list_remove(&conn->link);
	names->conn_count--;
	loop_defer_free(conn->relay->loop, conn);
}

static void on_idle(struct timer *timer)
{
	close_conn(CONTAINER_OF(timer, struct net_dns_conn, idle));
}

/* One question at a time; -1 when the connection cannot go on. */
static int ask_next(struct net_dns_conn *conn)
{
	size_t len = (size_t)conn->bytes[0] << 8 | conn->bytes[1];
	struct net_query *query;

	if (conn->number || conn->len < LENGTH_BYTES)
		return 0;
	if (len < HEADER_BYTES || len > NET_DNS_MAX)
		return -1;
	if (conn->len < LENGTH_BYTES + len)
		return 0;
	query = new_query(conn->relay);
	query->conn = conn;
	if (ask(conn->relay, query, NET_TCP, conn->bytes + LENGTH_BYTES, len))
		return -1;
	conn->number = query->number;
	conn->len -= LENGTH_BYTES + len;
	memmove(conn->bytes, conn->bytes + LENGTH_BYTES + len, conn->len);
	loop_wait_for(&conn->source, 0);
	return 0;
}

static void on_conn(struct source *source, uint32_t events)
{
	struct net_dns_conn *conn =
		CONTAINER_OF(source, struct net_dns_conn, source);
	ssize_t n = read(source->fd, conn->bytes + conn->len,
			 sizeof(conn->bytes) - conn->len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		conn->len += (size_t)n;
	timer_start(conn->relay->loop, &conn->idle, IDLE_MS);
	if (n <= 0 || ask_next(conn))
		close_conn(conn);
}

void net_dns_accept(struct net_relay *relay, int fd)
{
	struct net_dns_conn *conn;
	struct error err;

	if (relay->names.conn_count >= CONNS_MAX) {
		net_conn_refuse(fd);
		return;
	}
	conn = xcalloc(1, sizeof(*conn));
	conn->relay = relay;
	conn->source = (struct source){ .name = "questions over TCP",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_conn };
	conn->idle = (struct timer){ .name = "idle", .on_fire = on_idle };
	list_append(&relay->names.conns, &conn->link);
	relay->names.conn_count++;
	timer_start(relay->loop, &conn->idle, IDLE_MS);
	if (loop_add(relay->loop, &conn->source, &err))
		close_conn(conn);
}

static void answer_tcp(struct net_dns_conn *conn, const struct net_dns *answer)
{
	uint8_t len[LENGTH_BYTES] = { (uint8_t)(answer->len >> 8),
				      (uint8_t)answer->len };
	struct iovec iov[2] = {
		{ len, sizeof(len) },
		{ (void *)(uintptr_t)answer->bytes, answer->len },
	};

	conn->number = 0;
	/* A socket that has no room for one answer is not read. */
	if (writev(conn->source.fd, iov, 2) !=
		    (ssize_t)(sizeof(len) + answer->len) ||
	    ask_next(conn)) {
		close_conn(conn);
		return;
	}
	timer_start(conn->relay->loop, &conn->idle, IDLE_MS);
	if (!conn->number)
		loop_wait_for(&conn->source, EPOLLIN);
}

void net_dns_answer(struct net_relay *relay, const struct net_dns *answer)
{
	struct net_query *query =
		&relay->names.queries[answer->query % NET_QUERIES_MAX];

	if (!answer->query || query->number != answer->query)
		return; /* late: nobody waits any more */
	query->number = 0;
	if (query->conn)
		answer_tcp(query->conn, answer);
	else
		answer_udp(&relay->names, query, answer->bytes, answer->len);
}

/* Who asked by UDP asks again; a connection is closed. */
void net_dns_forget(struct net_relay *relay)
{
	struct net_names *names = &relay->names;

	LIST_FOR_EACH(node, &names->conns)
		close_conn(LIST_ENTRY(node, struct net_dns_conn, link));
	memset(names->queries, 0, sizeof(names->queries));
}

int net_dns_start(struct net_relay *relay, int fd)
{
	struct error err;

	list_init(&relay->names.conns);
	relay->names.source = (struct source){ .name = "questions",
					       .fd = fd,
					       .events = EPOLLIN,
					       .on_event = on_question };
	if (!loop_add(relay->loop, &relay->names.source, &err))
		return 0;
	log_error("%s", err.text);
	return -1;
}
