/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlink.c - requests to the kernel's network, as bytes
 */
#include "guest/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"

#define ANSWER_BYTES (16u * 1024)
#define ANSWER_SECONDS 10
#define ALIGN(len) (((len) + 3) & ~(size_t)3)

void netlink_init(struct netlink *nl)
{
	*nl = (struct netlink){ .bytes = xcalloc(1, NETLINK_BYTES_MAX) };
}

void netlink_release(struct netlink *nl)
{
	free(nl->bytes);
	*nl = (struct netlink){ 0 };
}

/* Room for len bytes, and what aligns them; NULL when there is none. */
static void *add(struct netlink *nl, size_t len)
{
	void *room = nl->bytes + nl->len;

	if (nl->bad || len > NETLINK_BYTES_MAX ||
	    ALIGN(len) > NETLINK_BYTES_MAX - nl->len) {
		nl->bad = true;
		return NULL;
	}
	nl->len += ALIGN(len);
	return room;
}

/* The length of a message counts all that was added to it so far. */
static void close_message(struct netlink *nl)
{
	struct nlmsghdr header;

	memcpy(&header, nl->bytes + nl->message, sizeof(header));
	header.nlmsg_len = (uint32_t)(nl->len - nl->message);
	memcpy(nl->bytes + nl->message, &header, sizeof(header));
}

void netlink_message(struct netlink *nl, uint16_t type, uint16_t flags,
		     const void *header, size_t header_len)
{
	struct nlmsghdr first = { .nlmsg_type = type,
				  .nlmsg_flags = NLM_F_REQUEST | flags,
				  .nlmsg_seq = ++nl->number };
	size_t start = nl->len;
	uint8_t *room = add(nl, sizeof(first) + header_len);

	if (!room)
		return;
	memcpy(room, &first, sizeof(first));
	memcpy(room + sizeof(first), header, header_len);
	nl->message = start;
	if (flags & NLM_F_ACK)
		nl->wanted++;
	close_message(nl);
}

void netlink_bytes(struct netlink *nl, uint16_t type, const void *value,
		   size_t len)
{
	struct nlattr attribute = { .nla_type = type };
	uint8_t *room = add(nl, sizeof(attribute) + len);

	if (!room)
		return;
	attribute.nla_len = (uint16_t)(sizeof(attribute) + len);
	memcpy(room, &attribute, sizeof(attribute));
	if (len)
		memcpy(room + sizeof(attribute), value, len);
	close_message(nl);
}

void netlink_text(struct netlink *nl, uint16_t type, const char *text)
{
	netlink_bytes(nl, type, text, strlen(text) + 1);
}

void netlink_u32(struct netlink *nl, uint16_t type, uint32_t value)
{
	netlink_bytes(nl, type, &value, sizeof(value));
}

void netlink_be32(struct netlink *nl, uint16_t type, uint32_t value)
{
	netlink_u32(nl, type, htonl(value));
}

void netlink_u8(struct netlink *nl, uint16_t type, uint8_t value)
{
	netlink_bytes(nl, type, &value, sizeof(value));
}

size_t netlink_begin(struct netlink *nl, uint16_t type)
{
	size_t begin = nl->len;

	netlink_bytes(nl, type | NLA_F_NESTED, NULL, 0);
	return begin;
}

void netlink_end(struct netlink *nl, size_t begin)
{
	uint16_t len = (uint16_t)(nl->len - begin);

	if (!nl->bad)
		memcpy(nl->bytes + begin, &len, sizeof(len));
}

int netlink_answers(const void *bytes, size_t len, unsigned *count)
{
	const uint8_t *at = bytes;
	struct nlmsghdr header;
	int32_t code;

	while (len >= sizeof(header)) {
		memcpy(&header, at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > len)
			return -1;
		if (header.nlmsg_type == NLMSG_ERROR) {
			if (header.nlmsg_len < sizeof(header) + sizeof(code))
				return -1;
			memcpy(&code, at + sizeof(header), sizeof(code));
			if (code)
				return code < 0 && code > INT32_MIN ? -code
								    : -1;
			(*count)++;
		}
		if (ALIGN(header.nlmsg_len) >= len)
			break;
		at += ALIGN(header.nlmsg_len);
		len -= ALIGN(header.nlmsg_len);
	}
	return 0;
}

static int wait_for_answers(int fd, unsigned wanted, struct error *err)
{
	uint8_t bytes[ANSWER_BYTES];
	unsigned count = 0;

	while (count < wanted) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
		int code;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, errno, "netlink");
		code = netlink_answers(bytes, (size_t)n, &count);
		if (code)
			return error_set(err, code < 0 ? EPROTO : code,
					 "netlink");
	}
	return 0;
}

int netlink_send(const struct netlink *nl, int protocol, struct error *err)
{
	AUTO_CLOSE int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int one = 1;

	if (nl->bad)
		return error_set(err, EMSGSIZE, "netlink");
	if (fd < 0)
		return error_set(err, errno, "netlink");
	/* An answer need not repeat what it answers. */
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (sendto(fd, nl->bytes, nl->len, 0, (struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return error_set(err, errno, "netlink");
	return wait_for_answers(fd, nl->wanted, err);
}
