/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay_frames.c - frames of a session, whole, in pieces, and wrong
 */
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/relay_frames.h"
#include "ipc/control.h"
#include "lib/tap.h"

static struct control_client control;
static struct relay_frames frames;
static struct relay_frame frame;
static struct error err;
static int peer;

static void begin(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	control_client_init(&control, pair[0]);
	peer = pair[1];
	relay_frames_init(&frames, &control);
	err = (struct error){ 0 };
}

static void end(void)
{
	relay_frames_release(&frames);
	control_client_release(&control);
	close(peer);
}

static size_t make(uint8_t *dst, enum session_frame_type type,
		   const void *bytes, uint32_t len)
{
	struct session_frame head = { type, len };

	session_frame_encode(&head, dst);
	memcpy(dst + SESSION_FRAME_HEADER_BYTES, bytes, len);
	return SESSION_FRAME_HEADER_BYTES + len;
}

static void say(const void *bytes, size_t len)
{
	CHECK(write(peer, bytes, len) == (ssize_t)len);
	CHECK(relay_frames_receive(&frames, &err) == 0);
}

static void a_frame_is_taken_whole_however_it_arrives(void)
{
	uint8_t bytes[64];
	size_t len = make(bytes, SESSION_FRAME_STDOUT, "hello", 5);

	begin();
	for (size_t i = 0; i < len; i++) {
		CHECK(relay_frames_next(&frames, &frame, &err) == 0);
		say(bytes + i, 1);
	}
	CHECK(relay_frames_next(&frames, &frame, &err) == 1);
	CHECK(frame.type == SESSION_FRAME_STDOUT && frame.len == 5);
	CHECK(!memcmp(frame.bytes, "hello", 5));
	end();
}

static void bytes_that_came_with_the_answer_are_not_lost(void)
{
	uint8_t bytes[64];
	size_t len = make(bytes, SESSION_FRAME_STDERR, "x", 1);

	begin();
	relay_frames_release(&frames);
	control.line = malloc(len);
	memcpy(control.line, bytes, len);
	control.len = len;
	relay_frames_init(&frames, &control);
	CHECK(relay_frames_next(&frames, &frame, &err) == 1);
	CHECK(frame.type == SESSION_FRAME_STDERR);
	end();
}

static void exit_becomes_the_code_that_shells_use(void)
{
	uint8_t bytes[64];
	static const uint8_t exited[] = { 0, 7, 0, 0 },
			     killed[] = { 9, 0, 0, 0 };

	begin();
	say(bytes, make(bytes, SESSION_FRAME_EXIT, exited, 4));
	CHECK(relay_frames_next(&frames, &frame, &err) == 1);
	CHECK(frame.exit_code == 7);
	say(bytes, make(bytes, SESSION_FRAME_EXIT, killed, 4));
	CHECK(relay_frames_next(&frames, &frame, &err) == 1);
	CHECK(frame.exit_code == 137);
	end();
}

static void a_lost_machine_is_an_error_with_its_reason_printable(void)
{
	uint8_t bytes[64];

	begin();
	say(bytes, make(bytes, SESSION_FRAME_LOST, "it \033[31mdied", 12));
	CHECK(relay_frames_next(&frames, &frame, &err) < 0);
	CHECK(strstr(err.text, "died") && !strchr(err.text, '\033'));
	end();
}

static void the_window_limits_stdin_and_grows_by_grants(void)
{
	static const uint8_t grant[] = { 0, 1, 0, 0 }, huge[] = { 0, 0, 0, 1 };
	static uint8_t bytes[SESSION_FRAME_MAX + SESSION_FRAME_HEADER_BYTES];
	static uint8_t sink[SESSION_STDIN_WINDOW * 2];

	begin();
	for (int i = 0; i < 4; i++) {
		CHECK(relay_frames_stdin_room(&frames) == SESSION_FRAME_MAX);
		relay_frames_send(&frames, SESSION_FRAME_STDIN, bytes,
				  SESSION_FRAME_MAX);
	}
	CHECK(relay_frames_stdin_room(&frames) == 0);
	while (recv(peer, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		relay_frames_flush(&frames);
	say(bytes, make(bytes, SESSION_FRAME_WINDOW, grant, 4));
	CHECK(relay_frames_next(&frames, &frame, &err) == 0);
	CHECK(relay_frames_stdin_room(&frames) == 256);
	say(bytes, make(bytes, SESSION_FRAME_WINDOW, huge, 4));
	CHECK(relay_frames_next(&frames, &frame, &err) < 0);
	end();
}

static void nonsense_ends_the_session(void)
{
	static const uint8_t wrong[SESSION_FRAME_HEADER_BYTES] = { 200 };
	uint8_t bytes[64];

	begin();
	say(wrong, sizeof(wrong));
	CHECK(relay_frames_next(&frames, &frame, &err) < 0);
	end();
	begin();
	say(bytes, make(bytes, SESSION_FRAME_STDIN, "x", 1));
	CHECK(relay_frames_next(&frames, &frame, &err) < 0);
	end();
}

static void a_closed_connection_is_an_error(void)
{
	begin();
	shutdown(peer, SHUT_WR);
	CHECK(relay_frames_receive(&frames, &err) < 0 && err.text[0]);
	end();
}

int main(void)
{
	RUN(a_frame_is_taken_whole_however_it_arrives);
	RUN(bytes_that_came_with_the_answer_are_not_lost);
	RUN(exit_becomes_the_code_that_shells_use);
	RUN(a_lost_machine_is_an_error_with_its_reason_printable);
	RUN(the_window_limits_stdin_and_grows_by_grants);
	RUN(nonsense_ends_the_session);
	RUN(a_closed_connection_is_an_error);
	return DONE();
}
