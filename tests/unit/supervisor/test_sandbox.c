/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sandbox.c - a whole sandbox with a guest and a QEMU made of cardboard
 *
 * QEMU is a sleeping process; the guest is this file's end of the port.
 */
#include "supervisor/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "ipc/control.h"
#include "lib/tap.h"
#include "proto/cursor.h"

static char path[] = "/tmp/bawn-test-sandbox-XXXXXX";
static struct start_spec spec = {
	.goal = START_COLD,
	.name = "cardboard",
	.id = "0123456789abcdef0123456789abcdef",
	.boot_timeout_ms = 60000,
};
static struct files files;
static struct sandbox sandbox;
static struct mux guest;
static int port, monitor, launcher, top;

static struct {
	unsigned count[MESSAGE_TYPES];
	uint32_t session, stdio, errors, signal;
	uint32_t flags;
	char stdin_bytes[64];
	size_t stdin_len;
	bool stdin_eof;
} seen;

static void guest_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct message message;

	if (message_decode(payload, len, &message) < 0)
		abort();
	seen.count[message.type]++;
	if (message.type == MESSAGE_SESSION_START) {
		seen.session = message.session_start.session;
		seen.stdio = message.session_start.stdio_stream;
		seen.errors = message.session_start.stderr_stream;
		seen.flags = message.session_start.flags;
		mux_stream_open(&guest, seen.stdio, NULL);
		if (seen.errors)
			mux_stream_open(&guest, seen.errors, NULL);
	} else if (message.type == MESSAGE_SESSION_SIGNAL) {
		seen.signal = message.session_signal.signal;
	}
}

static void guest_stream(void *ctx, struct mux_stream *stream)
{
	if (stream->id != seen.stdio)
		return;
	seen.stdin_len +=
		ring_read(&stream->in, seen.stdin_bytes + seen.stdin_len,
			  sizeof(seen.stdin_bytes) - seen.stdin_len);
	seen.stdin_eof |= stream->peer_eof;
}

static void guest_marker(void *ctx)
{
}

static const struct mux_ops guest_ops = { .on_message = guest_message,
					  .on_stream = guest_stream,
					  .on_marker = guest_marker };

/* Both ends move until nothing is under way. */
static void run(void)
{
	struct error err;
	uint8_t bytes[65536];
	struct iovec iov[3];
	ssize_t n;

	for (int quiet = 0; quiet < 4; quiet++) {
		int pieces;

		loop_step(sandbox.loop, 1, &err);
		while ((n = read(port, bytes, sizeof(bytes))) > 0) {
			if (mux_input(&guest, bytes, (size_t)n, &err) < 0)
				abort();
			quiet = 0;
		}
		while ((pieces = mux_output(&guest, iov)) > 0) {
			n = writev(port, iov, pieces);
			if (n <= 0)
				break;
			mux_sent(&guest, (size_t)n);
			quiet = 0;
		}
	}
}

static void guest_says(const struct message *message)
{
	uint8_t bytes[512];
	long len = message_encode(message, bytes, sizeof(bytes));

	if (len < 0 || mux_send_message(&guest, bytes, (size_t)len) < 0)
		abort();
	run();
}

static void pair(int *ours, int *theirs)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	*ours = fds[0];
	*theirs = fds[1];
}

static void begin(void)
{
	const char *argv[] = { "sleep", "1000", NULL };
	struct child_spec sleeper = { .path = child_tool("sleep", NULL),
				      .argv = argv,
				      .flags = CHILD_DIE_WITH_US };
	struct error err;
	int console;

	memset(&seen, 0, sizeof(seen));
	memset(&sandbox, 0, sizeof(sandbox));
	files = (struct files){ .events = -1, .control = -1, .alive = -1 };
	files.folder =
		openat(top, "machine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files.console = console_open_log(files.folder, &err);
	files.qemu.disks[0] = -1;
	sandbox.spec = &spec;
	sandbox.files = &files;
	sandbox.loop = loop_new(&err);
	pair(&sandbox.qemu.monitor, &monitor);
	pair(&sandbox.qemu.control, &port);
	pair(&sandbox.qemu.console, &console);
	pair(&sandbox.qemu.errors, &console);
	sandbox.launcher = (struct launcher){ .ports = { -1, -1 },
					      .qemu_ports = { -1, -1 } };
	pair(&sandbox.launcher.channel, &launcher);
	buffer_init(&sandbox.qemu.error_line, 1024);
	sandbox.qemu.profile.stage = ISOLATE_STAGE_NONE;
	if (child_spawn(&sleeper, &sandbox.qemu.child, &err) < 0 ||
	    sandbox_facts_open(&sandbox, &err) < 0)
		abort();
	mux_init(&guest, &mux_control_limits, &guest_ops, NULL);
}

static void end(void)
{
	struct error err;

	sandbox_fail(&sandbox, "end of the test");
	for (int i = 0; i < 200 && sandbox.life != SANDBOX_GONE; i++)
		loop_step(sandbox.loop, 10, &err);
	CHECK(sandbox.life == SANDBOX_GONE);
	sandbox_facts_close(&sandbox);
	loop_free(sandbox.loop);
	close(files.folder);
	mux_release(&guest);
	close(port);
	close(monitor);
	close(launcher);
}

static void wake(void)
{
	struct message hello = {
		.type = MESSAGE_HELLO,
		.hello = { .version = PROTOCOL_VERSION,
			   .kernel_release = "6.1" },
	};
	struct message awake = { .type = MESSAGE_AWAKE };

	guest_says(&hello);
	CHECK(seen.count[MESSAGE_WAKE] == 1);
	guest_says(&awake);
	CHECK(sandbox.life == SANDBOX_RUNNING);
}

static int connect_client(const char *request)
{
	struct error err;
	int ours, theirs;

	pair(&ours, &theirs);
	if (!clients_add(&sandbox.clients, theirs, request, strlen(request),
			 &err))
		abort();
	run();
	return ours;
}

static void started(void)
{
	struct message message = {
		.type = MESSAGE_SESSION_STARTED,
		.session_started = { seen.session, 42, 0, 0 },
	};

	guest_says(&message);
}

static void exited(uint32_t status)
{
	struct message message = {
		.type = MESSAGE_SESSION_EXITED,
		.session_exited = { seen.session, status },
	};

	guest_says(&message);
}

/* All that the client got; what is left of it after the line. */
static size_t collect(int fd, char *line, size_t size, uint8_t *frames)
{
	static char bytes[1 << 20];
	size_t len = 0, head;
	ssize_t n;

	run();
	while (len < sizeof(bytes) &&
	       (n = read(fd, bytes + len, sizeof(bytes) - len)) > 0) {
		len += (size_t)n;
		run();
	}
	head = len && memchr(bytes, '\n', len)
		       ? (size_t)((char *)memchr(bytes, '\n', len) - bytes) + 1
		       : 0;
	snprintf(line, size, "%.*s", (int)head, bytes);
	memcpy(frames, bytes + head, len - head);
	return len - head;
}

static uint8_t frames[1 << 20];

static void a_session_runs_from_its_request_to_its_exit_status(void)
{
	char line[256];
	size_t len;
	int client;

	begin();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"true\"],"
				"\"stdin\":true}\n");
	CHECK(seen.count[MESSAGE_SESSION_START] == 0);
	wake();
	CHECK(seen.count[MESSAGE_SESSION_START] == 1);
	CHECK(seen.errors != 0 && (seen.flags & SESSION_STDIN));
	started();
	mux_stream_write(mux_stream_find(&guest, seen.stdio), "out", 3);
	mux_stream_write(mux_stream_find(&guest, seen.errors), "err", 3);
	mux_stream_eof(mux_stream_find(&guest, seen.stdio));
	mux_stream_eof(mux_stream_find(&guest, seen.errors));
	exited(7 << 8);
	len = collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":true") && strstr(line, "\"pid\":42"));
	REQUIRE(len == 11 + 11 + 12);
	CHECK(frames[0] == SESSION_FRAME_STDOUT);
	CHECK(memcmp(frames + 8, "out", 3) == 0);
	CHECK(frames[11] == SESSION_FRAME_STDERR);
	CHECK(frames[22] == SESSION_FRAME_EXIT && frames[31] == 7);
	CHECK(sandbox.sessions.count == 0);
	close(client);
	end();
}

static void stdin_that_came_with_the_request_is_not_lost(void)
{
	static const char request[] =
		"{\"op\":\"exec\",\"argv\":[\"cat\"],\"stdin\":true}\n";
	static const uint8_t input[] = { 1,   0, 0, 0, 2, 0, 0, 0, 'h',
					 'i', 1, 0, 0, 0, 0, 0, 0, 0 };
	int client;

	begin();
	wake();
	client = connect_client(request);
	CHECK(write(client, input, sizeof(input)) == sizeof(input));
	run();
	started();
	run();
	CHECK(seen.stdin_len == 2 && memcmp(seen.stdin_bytes, "hi", 2) == 0);
	CHECK(seen.stdin_eof);
	close(client);
	end();
}

static void a_failed_start_says_what_failed(void)
{
	struct message message = {
		.type = MESSAGE_SESSION_STARTED,
		.session_started = { 1, 0, 2, SESSION_STAGE_EXEC },
	};
	char line[256];
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"none\"]}\n");
	guest_says(&message);
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":false") && strstr(line, "\"exec\""));
	CHECK(strstr(line, "\"code\":2"));
	CHECK(sandbox.sessions.count == 0);
	close(client);
	end();
}

static void a_client_that_vanishes_hangs_up_its_session(void)
{
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"sh\"],"
				"\"tty\":true,\"rows\":24,\"cols\":80}\n");
	started();
	close(client);
	run();
	CHECK(seen.signal == SIGHUP);
	CHECK(sandbox.sessions.count == 1);
	end();
}

static void the_main_session_outlives_its_client_and_is_redrawn(void)
{
	char line[256];
	size_t len;
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"sh\"],"
				"\"tty\":true,\"rows\":24,\"cols\":80,"
				"\"main\":true}\n");
	started();
	mux_stream_write(mux_stream_find(&guest, seen.stdio), "picture", 7);
	run();
	close(client);
	run();
	CHECK(seen.signal == 0);
	CHECK(sandbox.sessions.count == 1);
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"sh\"],"
				"\"main\":true}\n");
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":false"));
	close(client);
	client =
		connect_client("{\"op\":\"attach\",\"rows\":30,\"cols\":90}\n");
	len = collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":true"));
	REQUIRE(len > 16);
	CHECK(frames[0] == SESSION_FRAME_STDOUT);
	CHECK(memmem(frames, len, "picture", 7));
	CHECK(seen.count[MESSAGE_SESSION_RESIZE] == 1);
	close(client);
	end();
}

static void a_client_that_does_not_read_stops_its_own_session_only(void)
{
	static uint8_t bytes[65536];
	struct mux_stream *stream;
	char line[256];
	size_t sent = 0, got = 0;
	int slow, quick;

	begin();
	wake();
	slow = connect_client("{\"op\":\"exec\",\"argv\":[\"yes\"]}\n");
	started();
	stream = mux_stream_find(&guest, seen.stdio);
	for (int i = 0; i < 100; i++) {
		sent += mux_stream_write(stream, bytes, sizeof(bytes));
		run();
	}
	/* socket, client's room, two windows: it stands still by now */
	CHECK(sent < 2 << 20);
	quick = connect_client("{\"op\":\"exec\",\"argv\":[\"true\"]}\n");
	started();
	collect(quick, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":true"));
	while (got < sent) {
		ssize_t n = read(slow, frames, sizeof(frames));

		run();
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	CHECK(got >= sent);
	close(slow);
	close(quick);
	end();
}

static void a_guest_that_breaks_the_protocol_is_ended(void)
{
	char line[256];
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"sh\"]}\n");
	CHECK(write(port, "nonsense nonsense", 17) == 17);
	for (int i = 0; i < 100 && sandbox.life != SANDBOX_GONE; i++)
		run();
	CHECK(sandbox.life == SANDBOX_GONE && sandbox.failed);
	CHECK(strstr(sandbox.reason, "broke the protocol"));
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "broke the protocol"));
	close(client);
	end();
}

static void news_of_unknown_sessions_are_let_pass(void)
{
	struct message message = {
		.type = MESSAGE_SESSION_EXITED,
		.session_exited = { 99, 0 },
	};

	begin();
	wake();
	guest_says(&message);
	CHECK(sandbox.life == SANDBOX_RUNNING && !sandbox.failed);
	end();
}

static void unknown_requests_and_keys_are_errors(void)
{
	char line[256];
	int client;

	begin();
	client = connect_client("{\"op\":\"dance\"}\n");
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":false"));
	close(client);
	client = connect_client("{\"op\":\"status\",\"x\":1}\n");
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":false"));
	close(client);
	client = connect_client("{\"op\":\"status\"}\n");
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"state\":\"starting\""));
	close(client);
	end();
}

static void a_killed_qemu_is_a_failure_with_a_reason(void)
{
	struct sandbox_state state;
	struct error err;
	char line[256];
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"exec\",\"argv\":[\"sh\"]}\n");
	started();
	kill(sandbox.qemu.child.pid, SIGKILL);
	for (int i = 0; i < 100 && sandbox.life != SANDBOX_GONE; i++)
		run();
	CHECK(sandbox.failed && strstr(sandbox.reason, "signal 9"));
	CHECK(collect(client, line, sizeof(line), frames) > 8);
	CHECK(frames[0] == SESSION_FRAME_LOST);
	CHECK(sandbox_state_load(top, &state, &err) == 0);
	CHECK(state.status == SANDBOX_STATUS_FAILED);
	close(client);
	end();
}

static void a_full_disk_pauses_and_says_so(void)
{
	static const char event[] =
		"{\"event\":\"BLOCK_IO_ERROR\",\"data\":{\"action\":\"stop\","
		"\"nospace\":true}}\n";
	static const char resume[] = "{\"event\":\"RESUME\"}\n";

	begin();
	wake();
	CHECK(write(monitor, event, strlen(event)) > 0);
	run();
	CHECK(sandbox.life == SANDBOX_PAUSED);
	CHECK(strstr(sandbox.reason, "disk full"));
	CHECK(write(monitor, resume, strlen(resume)) > 0);
	run();
	CHECK(sandbox.life == SANDBOX_RUNNING && !sandbox.reason[0]);
	CHECK(seen.count[MESSAGE_WAKE] == 2);
	end();
}

/* QEMU's answer to the next command, which must be this one. */
static void answer(const char *command, const char *value)
{
	char line[1024] = "", text[1024];
	size_t len = 0;
	const char *id;

	for (int i = 0; i < 1000 && !memchr(line, '\n', len); i++) {
		run();
		if (read(monitor, line + len, 1) == 1)
			len++;
	}
	id = strstr(line, "\"id\":");
	REQUIRE(id && strstr(line, command));
	snprintf(text, sizeof(text), "{\"return\":%s,\"id\":%d}\n", value,
		 (int)strtol(id + 5, NULL, 10));
	CHECK(write(monitor, text, strlen(text)) > 0);
	run();
}

static void begin_late(int *log)
{
	spec.boot_timeout_ms = 1;
	spec.cpus = 2;
	begin();
	*log = memfd_create("log", MFD_CLOEXEC);
	log_to(*log);
	answer("qmp_capabilities", "{}");
	answer("query-status", "{\"status\":\"run\\u001bning\"}");
	CHECK(sandbox.life == SANDBOX_STARTING);
}

static void end_late(int log, char text[2048])
{
	ssize_t len = pread(log, text, 2047, 0);

	text[len > 0 ? len : 0] = '\0';
	log_to(STDERR_FILENO);
	close(log);
	end();
	spec.boot_timeout_ms = 60000;
	spec.cpus = 0;
}

static void a_machine_that_is_late_is_looked_at(void)
{
	char text[2048];
	int log;

	begin_late(&log);
	answer("info registers",
	       "\"RIP=ffffffff81e2b0cf RFL=2 [-] CPL=0 II=0 HLT=1\\r\\n\"");
	CHECK(sandbox.life == SANDBOX_STARTING);
	answer("info registers", "{\"odd\":1}");
	CHECK(sandbox.life != SANDBOX_STARTING && sandbox.failed);
	CHECK(strstr(sandbox.reason, "did not answer within"));
	end_late(log, text);
	CHECK(strstr(text, "state: run") && !strchr(text, 033));
	CHECK(strstr(text, "vCPU 0: halted at 0xffffffff81e2b0cf, in the "
			   "kernel\n"));
	CHECK(strstr(text, "vCPU 1: QEMU does not say"));
	CHECK(!strstr(text, "vCPU 2"));
}

static void a_machine_that_answers_while_it_is_looked_at_runs(void)
{
	char text[2048];
	int log;

	begin_late(&log);
	wake();
	answer("info registers", "\"EIP=10 CPL=3 HLT=0\"");
	answer("info registers", "\"EIP=10 CPL=3 HLT=0\"");
	CHECK(sandbox.life == SANDBOX_RUNNING && !sandbox.failed);
	end_late(log, text);
	CHECK(strstr(text, "vCPU 0: runs at 0x10, in a program\n"));
}

static void shares_that_cannot_be_served_fail_a_start(void)
{
	static const char said[] = "failed /gone: No such file\n";
	char line[256];
	int client;

	begin();
	client = connect_client("{\"op\":\"wait\"}\n");
	CHECK(write(launcher, said, strlen(said)) == (ssize_t)strlen(said));
	for (int i = 0; i < 100 && sandbox.life != SANDBOX_GONE; i++)
		run();
	CHECK(sandbox.failed);
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":false") && strstr(line, "/gone: No such"));
	close(client);
	end();
}

static void shares_that_are_lost_are_told_once(void)
{
	static const char said[] = "failed /gone\x1b: No such file\n";
	char line[256];
	int client;

	begin();
	wake();
	CHECK(write(launcher, said, strlen(said)) == (ssize_t)strlen(said));
	run();
	CHECK(sandbox.life == SANDBOX_RUNNING && !sandbox.failed);
	CHECK(!strcmp(sandbox.saved.reason, "/gone\\x1b: No such file"));
	for (int i = 0; i < 2; i++) {
		client = connect_client("{\"op\":\"wait\"}\n");
		collect(client, line, sizeof(line), frames);
		CHECK(strstr(line, "\"ok\":true"));
		CHECK(!strstr(line, "\"warning\":\"/gone") == (i == 1));
		close(client);
	}
	end();
}

static void a_launcher_that_is_gone_ends_the_machine(void)
{
	begin();
	wake();
	shutdown(launcher, SHUT_RDWR);
	for (int i = 0; i < 100 && sandbox.life != SANDBOX_GONE; i++)
		run();
	CHECK(sandbox.failed && strstr(sandbox.reason, "bawn-launch"));
	end();
}

static void a_problem_of_the_guest_is_a_warning(void)
{
	struct message hello = {
		.type = MESSAGE_HELLO,
		.hello = { .version = PROTOCOL_VERSION,
			   .kernel_release = "6.1" },
	};
	struct message awake = { .type = MESSAGE_AWAKE,
				 .awake = { .problem = "no \x1b mount" } };
	char line[256];
	int client;

	begin();
	client = connect_client("{\"op\":\"wait\"}\n");
	guest_says(&hello);
	guest_says(&awake);
	CHECK(sandbox.life == SANDBOX_RUNNING);
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"warning\":\"shared folders: no \\\\x1b mount"));
	close(client);
	end();
}

static void a_stop_asks_the_guest_first(void)
{
	char line[256];
	int client;

	begin();
	wake();
	client = connect_client("{\"op\":\"stop\",\"power_off\":true,"
				"\"timeout_ms\":60000}\n");
	CHECK(seen.count[MESSAGE_POWER_OFF] == 1);
	CHECK(sandbox.life == SANDBOX_STOPPING);
	kill(sandbox.qemu.child.pid, SIGKILL);
	for (int i = 0; i < 100 && sandbox.life != SANDBOX_GONE; i++)
		run();
	CHECK(!sandbox.failed);
	collect(client, line, sizeof(line), frames);
	CHECK(strstr(line, "\"ok\":true"));
	close(client);
	end();
}

/* The guest says that its CPUs did nothing for a second. */
static bool rests_after_a_look(void)
{
	const struct message_stats stats = { .cpu_busy_ms = 50 };

	sandbox.idle.asked = true;
	sandbox.idle.busy_ms = 50;
	sandbox.idle.looked_ms = loop_now_ms() - 1000;
	idle_on_stats(&sandbox, &stats);
	return sandbox.idle.since_ms != 0;
}

static void a_used_port_keeps_an_idle_machine_awake(void)
{
	static const char said[] = "traffic \n";

	begin();
	wake();
	spec.idle_s = 600;
	CHECK(rests_after_a_look());
	CHECK(write(launcher, said, strlen(said)) == (ssize_t)strlen(said));
	run();
	CHECK(sandbox.idle.since_ms == 0);
	CHECK(!rests_after_a_look());
	CHECK(rests_after_a_look());
	spec.idle_s = 0;
	end();
}

int main(void)
{
	struct error err;
	int parent;

	signal(SIGPIPE, SIG_IGN);
	log_level_set(LOG_LEVEL_ERROR);
	if (!mkdtemp(path))
		return 1;
	top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mkdirat(top, "machine", 0700);
	RUN(a_session_runs_from_its_request_to_its_exit_status);
	RUN(stdin_that_came_with_the_request_is_not_lost);
	RUN(a_failed_start_says_what_failed);
	RUN(a_client_that_vanishes_hangs_up_its_session);
	RUN(the_main_session_outlives_its_client_and_is_redrawn);
	RUN(a_client_that_does_not_read_stops_its_own_session_only);
	RUN(a_guest_that_breaks_the_protocol_is_ended);
	RUN(news_of_unknown_sessions_are_let_pass);
	RUN(unknown_requests_and_keys_are_errors);
	RUN(a_killed_qemu_is_a_failure_with_a_reason);
	RUN(a_full_disk_pauses_and_says_so);
	RUN(a_machine_that_is_late_is_looked_at);
	RUN(a_machine_that_answers_while_it_is_looked_at_runs);
	RUN(shares_that_cannot_be_served_fail_a_start);
	RUN(shares_that_are_lost_are_told_once);
	RUN(a_launcher_that_is_gone_ends_the_machine);
	RUN(a_problem_of_the_guest_is_a_warning);
	RUN(a_stop_asks_the_guest_first);
	RUN(a_used_port_keeps_an_idle_machine_awake);
	parent = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fileio_remove_tree(parent, path + 5, &err);
	close(parent);
	return DONE();
}
