/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - JSON objects with descriptors, between our own processes
 */
#include "ipc/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

/* One more than allowed fits, so that too many are seen and closed. */
#define FDS_SEEN (PACKET_FDS_MAX + 1)

union control {
	char bytes[CMSG_SPACE(FDS_SEEN * sizeof(int))];
	struct cmsghdr align;
};

int packet_pair(int ends[2], struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "socketpair");
	return 0;
}

static void attach(struct msghdr *message, union control *control,
		   const int *fds, size_t fd_count)
{
	struct cmsghdr *header;

	if (!fd_count)
		return;
	message->msg_control = control->bytes;
	message->msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
}

static int send_text(int fd, char *text, const int *fds, size_t fd_count,
		     struct error *err)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { text, strlen(text) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (iov.iov_len > PACKET_BYTES_MAX || fd_count > PACKET_FDS_MAX)
		return error_set(err, EMSGSIZE, "packet");
	attach(&message, &control, fds, fd_count);
	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? error_set(err, errno, "packet") : 0;
}

int packet_send(int fd, json_t *json, const int *fds, size_t fd_count,
		struct error *err)
{
	AUTO_FREE char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!text)
		return error_set(err, EILSEQ, "packet");
	return send_text(fd, text, fds, fd_count, err);
}

/* False when there were too many; those are closed. */
static bool take_fds(struct msghdr *message, struct packet *packet)
{
	bool good = !(message->msg_flags & MSG_CTRUNC);

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int),
			       sizeof(fd));
			if (packet->fd_count < PACKET_FDS_MAX) {
				packet->fds[packet->fd_count++] = fd;
				continue;
			}
			close(fd);
			good = false;
		}
	}
	return good;
}

json_t *packet_parse(const void *bytes, size_t len, struct error *err)
{
	json_t *json;

	json = len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		   : NULL;
	if (json && json_is_object(json))
		return json;
	json_decref(json);
	error_set(err, EPROTO, "packet: not a JSON object");
	return NULL;
}

int packet_receive(int fd, struct packet *packet, struct error *err)
{
	char bytes[PACKET_BYTES_MAX];
	union control control;
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	*packet = (struct packet){ 0 };
	do
		n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0)
		return error_set(err, errno, "packet");
	if (!take_fds(&message, packet))
		error_set(err, EPROTO, "packet: too many descriptors");
	else if (n == 0)
		error_set(err, ECONNRESET, "packet");
	else if (message.msg_flags & MSG_TRUNC)
		error_set(err, EMSGSIZE, "packet");
	else
		packet->json = packet_parse(bytes, (size_t)n, err);
	if (packet->json)
		return 1;
	packet_release(packet);
	return -1;
}

const char *packet_op(const struct packet *packet)
{
	const char *op = json_string_value(json_object_get(packet->json, "op"));

	return op ? op : "";
}

int packet_take_fd(struct packet *packet, size_t index)
{
	return index < packet->fd_count ? TAKE_FD(packet->fds[index]) : -1;
}

void packet_release(struct packet *packet)
{
	for (size_t i = 0; i < packet->fd_count; i++) {
		if (packet->fds[i] >= 0)
			close(packet->fds[i]);
	}
	json_decref(packet->json);
	*packet = (struct packet){ 0 };
}
