/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_golden.c - the bytes of PROTOCOL.md, in files not written by our
 * encoders
 *
 * Every golden file decodes and encodes to the same bytes; cut at any byte, or
 * with one more, it does not decode. Every type has a file, and no file is
 * left out. A change of the protocol changes or adds a file.
 */
#include <dirent.h>
#include <fcntl.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "ipc/session_frame.h"
#include "lib/tap.h"
#include "proto/frame.h"
#include "proto/messages.h"
#include "proto/net_messages.h"

#define GOLDEN_MAX 4096

static const char *golden_folder;

enum kind {
	MESSAGE,
	NET_MESSAGE,
	FRAME,
	SESSION_FRAME,
};

static const struct golden {
	const char *name;
	enum kind kind;
	int type;
} goldens[] = {
	{ "hello", MESSAGE, MESSAGE_HELLO },
	{ "hello_version_2", MESSAGE, MESSAGE_HELLO },
	{ "wake", MESSAGE, MESSAGE_WAKE },
	{ "awake", MESSAGE, MESSAGE_AWAKE },
	{ "session_start", MESSAGE, MESSAGE_SESSION_START },
	{ "session_start_pty", MESSAGE, MESSAGE_SESSION_START },
	{ "session_start_folder", MESSAGE, MESSAGE_SESSION_START },
	{ "session_started", MESSAGE, MESSAGE_SESSION_STARTED },
	{ "session_signal", MESSAGE, MESSAGE_SESSION_SIGNAL },
	{ "session_resize", MESSAGE, MESSAGE_SESSION_RESIZE },
	{ "session_kill", MESSAGE, MESSAGE_SESSION_KILL },
	{ "session_attach", MESSAGE, MESSAGE_SESSION_ATTACH },
	{ "session_exited", MESSAGE, MESSAGE_SESSION_EXITED },
	{ "prepare", MESSAGE, MESSAGE_PREPARE },
	{ "prepared", MESSAGE, MESSAGE_PREPARED },
	{ "power_off", MESSAGE, MESSAGE_POWER_OFF },
	{ "stats", MESSAGE, MESSAGE_STATS },
	{ "net_hello", NET_MESSAGE, NET_HELLO },
	{ "net_welcome", NET_MESSAGE, NET_WELCOME },
	{ "net_open", NET_MESSAGE, NET_OPEN },
	{ "net_open_ipv6", NET_MESSAGE, NET_OPEN },
	{ "net_open_socket", NET_MESSAGE, NET_OPEN_SOCKET },
	{ "net_connect", NET_MESSAGE, NET_CONNECT },
	{ "net_opened", NET_MESSAGE, NET_OPENED },
	{ "net_dns_query", NET_MESSAGE, NET_DNS_QUERY },
	{ "net_dns_answer", NET_MESSAGE, NET_DNS_ANSWER },
	{ "net_forwards", NET_MESSAGE, NET_FORWARDS },
	{ "net_forwards_none", NET_MESSAGE, NET_FORWARDS },
	{ "net_sockets", NET_MESSAGE, NET_SOCKETS },
	{ "frame_message", FRAME, FRAME_MESSAGE },
	{ "frame_data", FRAME, FRAME_DATA },
	{ "frame_window", FRAME, FRAME_WINDOW },
	{ "frame_eof", FRAME, FRAME_EOF },
	{ "frame_close", FRAME, FRAME_CLOSE },
	{ "frame_slot", FRAME, FRAME_SLOT },
	{ "frame_free", FRAME, FRAME_FREE },
	{ "session_frame_stdin", SESSION_FRAME, SESSION_FRAME_STDIN },
	{ "session_frame_stdin_end", SESSION_FRAME, SESSION_FRAME_STDIN },
	{ "session_frame_stdout", SESSION_FRAME, SESSION_FRAME_STDOUT },
	{ "session_frame_stderr", SESSION_FRAME, SESSION_FRAME_STDERR },
	{ "session_frame_resize", SESSION_FRAME, SESSION_FRAME_RESIZE },
	{ "session_frame_signal", SESSION_FRAME, SESSION_FRAME_SIGNAL },
	{ "session_frame_exit", SESSION_FRAME, SESSION_FRAME_EXIT },
	{ "session_frame_detach", SESSION_FRAME, SESSION_FRAME_DETACH },
	{ "session_frame_lost", SESSION_FRAME, SESSION_FRAME_LOST },
	{ "session_frame_window", SESSION_FRAME, SESSION_FRAME_WINDOW },
};

/* Comment lines begin with '#'; the others are pairs of hex digits. */
static int parse_hex(char *text, struct buffer *out)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (line[0] == '#')
			continue;
		for (char *end = line; *line; line = end) {
			uint8_t byte = (uint8_t)strtoul(line, &end, 16);

			if (end == line || buffer_append(out, &byte, 1) < 0)
				return -1;
		}
	}
	return 0;
}

static int read_golden(const char *name, struct buffer *out)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4 * GOLDEN_MAX);
	AUTO_FREE char *path = xasprintf("%s/%s.hex", golden_folder, name);
	struct error err;

	buffer_init(out, GOLDEN_MAX);
	if (fileio_read(AT_FDCWD, path, &text, &err) < 0) {
		printf("# %s\n", err.text);
		return -1;
	}
	return parse_hex((char *)(uintptr_t)buffer_str(&text), out);
}

/* Decodes len bytes as a whole and encodes them again; -1 if either fails. */
static int round_trip(const struct golden *golden, const uint8_t *bytes,
		      size_t len, uint8_t *again)
{
	struct message message;
	struct frame frame;
	struct session_frame session_frame;
	struct net_message net;

	switch (golden->kind) {
	case MESSAGE:
		if (message_decode(bytes, len, &message) < 0 ||
		    (int)message.type != golden->type)
			return -1;
		return message_encode(&message, again, len) == (long)len ? 0
									 : -1;
	case NET_MESSAGE:
		if (net_message_decode(bytes, len, &net) < 0 ||
		    (int)net.type != golden->type)
			return -1;
		return net_message_encode(&net, again, len) == (long)len ? 0
									 : -1;
	case FRAME:
		if (len < FRAME_HEADER_BYTES ||
		    frame_decode(bytes, &frame) < 0 ||
		    (int)frame.type != golden->type ||
		    frame.len != len - FRAME_HEADER_BYTES)
			return -1;
		memcpy(again, bytes, len);
		frame_encode(&frame, again);
		return 0;
	case SESSION_FRAME:
		if (len < SESSION_FRAME_HEADER_BYTES ||
		    session_frame_decode(bytes, &session_frame) < 0 ||
		    (int)session_frame.type != golden->type ||
		    session_frame.len != len - SESSION_FRAME_HEADER_BYTES)
			return -1;
		memcpy(again, bytes, len);
		session_frame_encode(&session_frame, again);
		return 0;
	}
	return -1;
}

/* In memory of exactly this size, so that a sanitizer sees each overrun. */
static int try_bytes(const struct golden *golden, const uint8_t *bytes,
		     size_t len)
{
	AUTO_FREE uint8_t *copy = xmalloc(len + 1);
	AUTO_FREE uint8_t *exact = xmalloc(len ? len : 1);
	AUTO_FREE uint8_t *again = xcalloc(1, len + 1);

	memcpy(copy, bytes, len);
	memcpy(exact, copy, len);
	if (round_trip(golden, exact, len, again) < 0)
		return -1;
	return memcmp(again, bytes, len) ? -1 : 0;
}

static void every_file_comes_back_byte_for_byte(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		AUTO_BUFFER struct buffer bytes;

		CHECK(read_golden(goldens[i].name, &bytes) == 0);
		if (try_bytes(&goldens[i], bytes.data, bytes.len) < 0) {
			printf("# %s\n", goldens[i].name);
			CHECK(!"the same bytes");
		}
	}
}

static void every_truncation_fails(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		AUTO_BUFFER struct buffer bytes;

		CHECK(read_golden(goldens[i].name, &bytes) == 0);
		for (size_t cut = 0; cut < bytes.len; cut++)
			CHECK(try_bytes(&goldens[i], bytes.data, cut) == -1);
	}
}

static void an_extra_byte_fails(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		AUTO_BUFFER struct buffer bytes;

		CHECK(read_golden(goldens[i].name, &bytes) == 0);
		CHECK(buffer_append(&bytes, "", 1) == 0);
		CHECK(try_bytes(&goldens[i], bytes.data, bytes.len) == -1);
	}
}

static bool has_golden(enum kind kind, int type)
{
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++)
		if (goldens[i].kind == kind && goldens[i].type == type)
			return true;
	return false;
}

static void every_type_has_a_file(void)
{
	for (int type = 1; type < MESSAGE_TYPES; type++)
		CHECK(has_golden(MESSAGE, type));
	for (int type = 1; type < NET_MESSAGE_TYPES; type++)
		CHECK(has_golden(NET_MESSAGE, type));
	for (int type = 1; type < FRAME_TYPES; type++)
		CHECK(has_golden(FRAME, type));
	for (int type = 1; type < SESSION_FRAME_TYPES; type++)
		CHECK(has_golden(SESSION_FRAME, type));
}

static void no_file_is_left_out(void)
{
	DIR *folder = opendir(golden_folder);
	const struct dirent *entry;
	size_t files = 0;

	REQUIRE(folder);
	while ((entry = readdir(folder)))
		files += strstr(entry->d_name, ".hex") != NULL;
	closedir(folder);
	CHECK(files == ARRAY_SIZE(goldens));
}

static void fields_are_where_the_protocol_says(void)
{
	AUTO_BUFFER struct buffer start, wake, awake, started;
	struct message message;
	const struct message_session_start *s = &message.session_start;
	const char *text;

	REQUIRE(!read_golden("session_start", &start));
	REQUIRE(!message_decode(start.data, start.len, &message));
	CHECK(s->session == 7 && s->flags == SESSION_STDIN);
	CHECK(s->stdio_stream == 14 && s->stderr_stream == 15);
	CHECK(s->rows == 24 && s->cols == 80);
	CHECK(!strcmp(s->user, "agent") && !strcmp(s->folder, "/home/agent"));
	CHECK(s->argv.count == 3 && s->env.count == 2);
	text = message_string_next(&s->env, NULL);
	CHECK(!strcmp(text, "A=1"));
	CHECK(!strcmp(message_string_next(&s->env, text), "B="));

	REQUIRE(!read_golden("wake", &wake));
	REQUIRE(!message_decode(wake.data, wake.len, &message));
	CHECK(message.wake.wall_clock_ns == 1700000000123456789u);
	CHECK(message.wake.entropy[63] == 63);
	CHECK(message.wake.machine_id[0] == 0xa0);
	CHECK(!strcmp(message.wake.hostname, "box"));
	CHECK(message.wake.shares == 2);
	CHECK(!strcmp(message.wake.authority, "PEM"));
	CHECK(!strcmp(message.wake.git, "GIT"));

	REQUIRE(!read_golden("awake", &awake));
	REQUIRE(!message_decode(awake.data, awake.len, &message));
	CHECK(!strcmp(message.awake.problem, "no fuse"));

	REQUIRE(!read_golden("session_started", &started));
	REQUIRE(!message_decode(started.data, started.len, &message));
	CHECK(message.session_started.pid == 0);
	CHECK(message.session_started.error == 2);
	CHECK(message.session_started.stage == SESSION_STAGE_EXEC);
}

static void fields_of_the_network_port_are_there_too(void)
{
	AUTO_BUFFER struct buffer open, query, forwards, sockets;
	struct net_message m;

	REQUIRE(!read_golden("net_open", &open));
	REQUIRE(!net_message_decode(open.data, open.len, &m));
	CHECK(m.open.stream == 1 && m.open.family == 4 && m.open.port == 443);
	CHECK(!memcmp(m.open.address, "\xc6\x12\x00\x07", 4));

	REQUIRE(!read_golden("net_dns_query", &query));
	REQUIRE(!net_message_decode(query.data, query.len, &m));
	CHECK(m.dns.query == 9 && m.dns.transport == NET_UDP);
	CHECK(m.dns.len == 29 && m.dns.bytes[0] == 0xab);

	REQUIRE(!read_golden("net_forwards", &forwards));
	REQUIRE(!net_message_decode(forwards.data, forwards.len, &m));
	CHECK(m.forwards.count == 2 && m.forwards.ports[0] == 5432);

	REQUIRE(!read_golden("net_sockets", &sockets));
	REQUIRE(!net_message_decode(sockets.data, sockets.len, &m));
	CHECK(m.sockets.count == 2 && !strcmp(m.sockets.paths[1], "/b"));
}

static void a_newer_hello_can_be_read_and_told_apart(void)
{
	AUTO_BUFFER struct buffer bytes;
	struct message message;

	REQUIRE(!read_golden("hello_version_2", &bytes));
	REQUIRE(!message_decode(bytes.data, bytes.len, &message));
	CHECK(message.hello.version == 2);
	CHECK(message.hello.version != PROTOCOL_VERSION);
	CHECK(message.hello.features == 0x80000005);
	CHECK(!strcmp(message.hello.kernel_release, "9.9"));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s GOLDEN-FOLDER\n", argv[0]);
		return 2;
	}
	golden_folder = argv[1];
	RUN(every_file_comes_back_byte_for_byte);
	RUN(every_truncation_fails);
	RUN(an_extra_byte_fails);
	RUN(every_type_has_a_file);
	RUN(no_file_is_left_out);
	RUN(fields_are_where_the_protocol_says);
	RUN(fields_of_the_network_port_are_there_too);
	RUN(a_newer_hello_can_be_read_and_told_apart);
	return DONE();
}
