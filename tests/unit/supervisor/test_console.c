/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_console.c - the console's log is bounded, and a flood is throttled
 */
#include "supervisor/console.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/tap.h"

static char path[] = "/tmp/bawn-test-console-XXXXXX";
static int folder, peer;
static struct loop *loop;
static struct console console;

static void begin(void)
{
	struct error err;
	int pair[2], log_fd;

	loop = loop_new(&err);
	log_fd = console_open_log(folder, &err);
	if (!loop || log_fd < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    console_open(&console, loop, pair[0], log_fd, folder, &err) < 0)
		abort();
	peer = pair[1];
	fcntl(peer, F_SETFL, O_NONBLOCK);
}

static void end(void)
{
	console_close(&console);
	close(peer);
	loop_free(loop);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, 0) < 0 ? -1 : st.st_size;
}

static void lines_reach_the_log_and_the_last_one_is_known(void)
{
	struct error err;
	char line[64];

	begin();
	CHECK(write(peer, "first\r\nlast \033[1mone\r\n\r\n", 24) == 24);
	loop_step(loop, 100, &err);
	console_last_line(&console, line, sizeof(line));
	CHECK(strcmp(line, "last \\x1b[1mone") == 0);
	CHECK(size_of(CONSOLE_LOG) == 24);
	end();
}

static void what_a_kernel_gave_up_with_is_known(void)
{
	static const char text[] =
		"[ 1.0] Kernel panic - not syncing: Fatal \033[1mthing\r\n"
		"[ 1.1] Kernel Offset: disabled";
	struct error err;
	char line[64];

	begin();
	console_panic(&console, line, sizeof(line));
	CHECK(!line[0]);
	CHECK(write(peer, text, strlen(text)) == (ssize_t)strlen(text));
	loop_step(loop, 100, &err);
	console_panic(&console, line, sizeof(line));
	CHECK(strcmp(line, "Fatal \\x1b[1mthing") == 0);
	end();
}

static void a_flood_is_throttled(void)
{
	static char bytes[65536];
	size_t sent = 0;
	struct error err;

	memset(bytes, 'x', sizeof(bytes));
	begin();
	/* A second of flood takes the burst and little more. */
	for (uint64_t stop = loop_now_ms() + 500; loop_now_ms() < stop;) {
		ssize_t n = write(peer, bytes, sizeof(bytes));

		sent += n > 0 ? (size_t)n : 0;
		loop_step(loop, 10, &err);
	}
	CHECK(size_of(CONSOLE_LOG) >= 256 * 1024);
	CHECK(size_of(CONSOLE_LOG) <= 256 * 1024 + 64 * 1024);
	CHECK(sent < 1024 * 1024);
	end();
}

static void a_log_that_is_full_becomes_the_old_one(void)
{
	static char bytes[16384];
	struct error err;

	memset(bytes, 'y', sizeof(bytes));
	begin();
	for (size_t i = 0; i < 3 * CONSOLE_LOG_MAX / sizeof(bytes); i++) {
		CHECK(write(peer, bytes, sizeof(bytes)) ==
		      (ssize_t)sizeof(bytes));
		console_drain(&console);
	}
	loop_step(loop, 0, &err);
	CHECK(size_of(CONSOLE_LOG) <= CONSOLE_LOG_MAX);
	CHECK(size_of(CONSOLE_LOG_OLD) > 0);
	CHECK(size_of(CONSOLE_LOG_OLD) <= CONSOLE_LOG_MAX);
	end();
}

int main(void)
{
	if (!mkdtemp(path))
		return 1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(lines_reach_the_log_and_the_last_one_is_known);
	RUN(what_a_kernel_gave_up_with_is_known);
	RUN(a_flood_is_throttled);
	RUN(a_log_that_is_full_becomes_the_old_one);
	unlinkat(folder, CONSOLE_LOG, 0);
	unlinkat(folder, CONSOLE_LOG_OLD, 0);
	rmdir(path);
	return DONE();
}
