/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_owner.c - which user of this host a local connection comes from
 */
#include "net/peer_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define ANSWER_BYTES 1024

struct request {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

int peer_owner_open(struct peer_owner *owner, struct error *err)
{
	owner->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			   NETLINK_SOCK_DIAG);
	if (owner->fd < 0 && errno != EPROTONOSUPPORT && errno != EAFNOSUPPORT)
		return error_set(err, errno, "sock_diag");
	return 0;
}

void peer_owner_release(struct peer_owner *owner)
{
	if (owner->fd >= 0)
		close(owner->fd);
	owner->fd = -1;
}

static void set_side(const struct sockaddr_storage *from, __be16 *port,
		     __be32 address[4])
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->ss_family == AF_INET) {
		*port = v4->sin_port;
		memcpy(address, &v4->sin_addr, 4);
	} else {
		*port = v6->sin6_port;
		memcpy(address, &v6->sin6_addr, 16);
	}
}

/* The peer's socket: what is remote to us is its own. */
static int fill_request(int fd, struct request *request)
{
	struct sockaddr_storage ours = { 0 }, theirs = { 0 };
	socklen_t len = sizeof(ours), other = sizeof(theirs);
	struct inet_diag_sockid *id = &request->body.id;

	if (getsockname(fd, (struct sockaddr *)&ours, &len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&theirs, &other) < 0 ||
	    ours.ss_family != theirs.ss_family ||
	    (ours.ss_family != AF_INET && ours.ss_family != AF_INET6))
		return -1;
	*request = (struct request){
		.header = { .nlmsg_len = sizeof(*request),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)ours.ss_family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0U },
	};
	set_side(&theirs, &id->idiag_sport, id->idiag_src);
	set_side(&ours, &id->idiag_dport, id->idiag_dst);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return 0;
}

/* The kernel answers while we send: there is nothing to wait for. */
static int ask(int fd, const struct request *request, uid_t *uid)
{
	union {
		struct nlmsghdr header;
		uint8_t bytes[ANSWER_BYTES];
	} answer;
	const struct inet_diag_msg *found;
	ssize_t n;

	if (send(fd, request, sizeof(*request), MSG_DONTWAIT) !=
	    sizeof(*request))
		return -1;
	n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*found)) ||
	    answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -1;
	found = NLMSG_DATA(&answer.header);
	*uid = found->idiag_uid;
	return 0;
}

int peer_owner_find(const struct peer_owner *owner, int fd, uid_t *uid)
{
	struct request request;

	if (owner->fd < 0 || fill_request(fd, &request) < 0)
		return -1;
	return ask(owner->fd, &request, uid);
}

bool peer_owner_is_loopback(int fd)
{
	struct sockaddr_storage bound = { 0 };
	const struct sockaddr_in *v4 = (const void *)&bound;
	const struct sockaddr_in6 *v6 = (const void *)&bound;
	socklen_t len = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
		return true; /* then nobody but the owner */
	if (bound.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return bound.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}
