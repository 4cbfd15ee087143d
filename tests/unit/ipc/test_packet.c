/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_packet.c - objects and descriptors arrive together, and nothing else
 * does
 */
#include "ipc/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

static int ends[2];
static struct error err;
static struct packet packet;

static int open_ends(void)
{
	return packet_pair(ends, &err);
}

static void close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}

static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static ino_t inode_of(int fd)
{
	struct stat st = { 0 };

	CHECK(fstat(fd, &st) == 0);
	return st.st_ino;
}

static void objects_come_one_by_one(void)
{
	REQUIRE(open_ends() == 0);
	CHECK(packet_receive(ends[1], &packet, &err) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(packet_send(ends[0],
				  json_pack("{s:s,s:i}", "op", "ask", "id", i),
				  NULL, 0, &err) == 0);
	for (int i = 0; i < 3; i++) {
		REQUIRE(packet_receive(ends[1], &packet, &err) == 1);
		CHECK(!strcmp(packet_op(&packet), "ask"));
		CHECK(json_integer_value(json_object_get(packet.json, "id")) ==
		      i);
		CHECK(packet.fd_count == 0 && packet_take_fd(&packet, 0) == -1);
		packet_release(&packet);
	}
	CHECK(packet_receive(ends[1], &packet, &err) == 0);
	close(ends[0]);
	CHECK(packet_receive(ends[1], &packet, &err) == -1);
	CHECK(err.code == ECONNRESET);
	close(ends[1]);
}

static void descriptors_come_with_their_object(void)
{
	int pipes[2][2], got, free_fd;

	REQUIRE(open_ends() == 0);
	REQUIRE(!pipe2(pipes[0], O_CLOEXEC) && !pipe2(pipes[1], O_CLOEXEC));
	free_fd = next_fd();
	CHECK(packet_send(ends[0], json_pack("{s:s}", "op", "plain"), NULL, 0,
			  &err) == 0);
	CHECK(packet_send(ends[0], json_pack("{s:s}", "op", "four"),
			  (int[]){ pipes[0][0], pipes[0][1], pipes[1][0],
				   pipes[1][1] },
			  4, &err) == 0);
	REQUIRE(packet_receive(ends[1], &packet, &err) == 1);
	CHECK(packet.fd_count == 0);
	packet_release(&packet);
	REQUIRE(packet_receive(ends[1], &packet, &err) == 1);
	CHECK(packet.fd_count == 4);
	got = packet_take_fd(&packet, 2);
	CHECK(got >= 0 && packet_take_fd(&packet, 2) == -1);
	CHECK(inode_of(got) == inode_of(pipes[1][0]));
	CHECK(fcntl(got, F_GETFD) & FD_CLOEXEC);
	packet_release(&packet);
	CHECK(fcntl(got, F_GETFD) >= 0);
	close(got);
	/* The other three were closed. */
	CHECK(next_fd() == free_fd);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
	close_ends();
}

static void send_raw(const void *bytes, size_t len, int fd_count)
{
	int fds[8] = { 0 };
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd_count) {
		struct cmsghdr *header = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen =
			CMSG_SPACE((size_t)fd_count * sizeof(int));
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, (size_t)fd_count * sizeof(int));
	}
	CHECK(sendmsg(ends[0], &message, 0) == (ssize_t)len);
}

static void what_is_no_packet_is_refused_with_its_descriptors(void)
{
	static char large[PACKET_BYTES_MAX + 1];
	static const char *const bad[] = {
		"[]",   "1",  "{",     "{}{}", "{\"a\":1,\"a\":2}",
		"nope", "{ ", "\"x\"", "\n",
	};
	int free_fd;

	REQUIRE(open_ends() == 0);
	free_fd = next_fd();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		send_raw(bad[i], strlen(bad[i]), 2);
		CHECK(packet_receive(ends[1], &packet, &err) == -1);
		CHECK(err.code == EPROTO && !packet.json);
	}
	send_raw("{}\0", 3, 1); /* a NUL behind the object */
	CHECK(packet_receive(ends[1], &packet, &err) == -1);
	for (int count = 5; count <= 8; count++) {
		send_raw("{}", 2, count);
		CHECK(packet_receive(ends[1], &packet, &err) == -1);
		CHECK(err.code == EPROTO);
	}
	memset(large, ' ', sizeof(large));
	large[0] = '{';
	large[PACKET_BYTES_MAX - 1] = '}';
	send_raw(large, PACKET_BYTES_MAX, 1);
	CHECK(packet_receive(ends[1], &packet, &err) == 1);
	CHECK(packet.fd_count == 1);
	packet_release(&packet);
	send_raw(large, PACKET_BYTES_MAX + 1, 1);
	CHECK(packet_receive(ends[1], &packet, &err) == -1);
	CHECK(err.code == EMSGSIZE);
	CHECK(next_fd() == free_fd);
	close_ends();
}

static void what_is_too_much_is_not_sent(void)
{
	static char text[PACKET_BYTES_MAX];

	REQUIRE(open_ends() == 0);
	memset(text, 'x', sizeof(text) - 1);
	CHECK(packet_send(ends[0], json_pack("{s:s}", "a", text), NULL, 0,
			  &err) == -1);
	CHECK(err.code == EMSGSIZE);
	CHECK(packet_send(ends[0], json_object(), (int[]){ 0, 0, 0, 0, 0 }, 5,
			  &err) == -1);
	CHECK(err.code == EMSGSIZE);
	CHECK(packet_send(ends[0], NULL, NULL, 0, &err) == -1);
	text[8000] = '\0';
	while (packet_send(ends[0], json_pack("{s:s}", "a", text), NULL, 0,
			   &err) == 0)
		;
	CHECK(err.code == EAGAIN);
	close(ends[1]);
	CHECK(packet_send(ends[0], json_object(), NULL, 0, &err) == -1);
	CHECK(err.code == EPIPE || err.code == ECONNRESET);
	close(ends[0]);
}

static void an_object_without_an_op_has_an_empty_one(void)
{
	REQUIRE(open_ends() == 0);
	send_raw("{\"op\":7}", 8, 0);
	REQUIRE(packet_receive(ends[1], &packet, &err) == 1);
	CHECK(!strcmp(packet_op(&packet), ""));
	packet_release(&packet);
	packet_release(&packet);
	close_ends();
}

int main(void)
{
	RUN(objects_come_one_by_one);
	RUN(descriptors_come_with_their_object);
	RUN(what_is_no_packet_is_refused_with_its_descriptors);
	RUN(what_is_too_much_is_not_sent);
	RUN(an_object_without_an_op_has_an_empty_one);
	return DONE();
}
