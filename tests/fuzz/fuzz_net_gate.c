/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_gate.c - a guest says anything: all of bawn-net but its sockets
 *
 * The input is what the relay sends after HELLO, raw. The policy allows names
 * that resolve nowhere, so that all paths up to a connection are taken and none
 * is made. Whatever comes, the process ends in order and frees all it had.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "lib/fuzz.h"
#include "net/config.h"
#include "net/gate.h"
#include "proto/frame.h"

#define INPUT_MAX (96u * 1024)
#define ROUNDS 64

#define HEX32 "0123456789abcdef0123456789abcdef"

static const char settings[] =
	"{\"sandbox\":\"box\",\"marker\":null,\"next_marker\":\"" HEX32 HEX32
	"\",\"policy\":[{\"scope\":\"sandbox\",\"name\":\"f\",\"text\":\""
	"allow good.example\\nallow GET,HEAD api.example/org/**\\n"
	"deny evil.example\\nallow *.wild.example:1-9000\\n\"}],"
	"\"preset\":\"x\",\"ask_ms\":1000,"
	"\"resolver\":{\"servers\":[],\"hosts\":[]},\"proxy\":{},"
	"\"addresses\":[],\"published\":[],\"sockets\":[\"/run/s\"]}";

static const uint8_t hello[] = { FRAME_MESSAGE,
				 0,
				 0,
				 0,
				 0,
				 0,
				 0,
				 0,
				 10,
				 0,
				 0,
				 0,
				 1,
				 0,
				 1,
				 0,
				 0,
				 0,
				 0,
				 0,
				 0,
				 0 };

static struct gate gate;

static void drain(int fd)
{
	static uint8_t bytes[1 << 16];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void run(struct loop *loop, int fd, const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	size_t sent = 0;

	FUZZ_CHECK(gate_start(&gate, &err) == 0);
	FUZZ_CHECK(send(fd, hello, sizeof(hello), 0) == sizeof(hello));
	for (int i = 0; i < ROUNDS && !gate.port.ended; i++) {
		ssize_t n = sent < size ? send(fd, data + sent, size - sent,
					       MSG_DONTWAIT | MSG_NOSIGNAL)
					: 0;

		sent += n > 0 ? (size_t)n : 0;
		FUZZ_CHECK(loop_step(loop, 0, &err) == 0);
		drain(fd);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct loop *loop = loop_new(&err);
	struct config *config =
		config_parse(settings, strlen(settings), CONFIG_START, &err);
	struct gate_fds fds = {
		.control = -1,
		.names = -1,
		.log = -1,
		.keys = -1,
		.slots = -1,
	};
	int pair[2];

	log_level_set(LOG_LEVEL_ERROR);
	log_to(-1);
	FUZZ_CHECK(loop && config);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	fds.port = pair[0];
	FUZZ_CHECK(gate_init(&gate, loop, config, &fds, &err) == 0);
	run(loop, pair[1], data, size < INPUT_MAX ? size : INPUT_MAX);
	gate_release(&gate);
	FUZZ_CHECK(gate.ends.buffered == 0 && gate.ends.count == 0);
	FUZZ_CHECK(gate.half_open == 0);
	loop_free(loop);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
