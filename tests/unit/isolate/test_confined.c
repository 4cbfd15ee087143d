/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_confined.c - QEMU's confinement, with a probe in QEMU's place
 *
 * Arguments: confined_run, confined_probe, bawn-ramshim.so. Each mode is one
 * way in which a supervisor can be started; the probe tries everything in
 * each of them.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "isolate/isolate.h"
#include "lib/confinement.h"
#include "lib/tap.h"

#define ORDINARY "1879048192"
#define FILE_FD 9
#define ARGS_MAX 24

static const char *runner, *probe, *shim;
static const char *mode_args[4]; /* of confined_run */
static bool refuse_namespaces;

static int prepare(void *ctx, struct error *err)
{
	(void)ctx;
	if (refuse_namespaces && !confinement_refuse_namespaces())
		return error_set(err, errno, "cannot refuse namespaces");
	return 0;
}

/* A file with one line, open for reading only, as the shared RAM file is. */
static int own_file(void)
{
	char path[] = "/tmp/bawn-confined-XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	int read_only;

	if (fd < 0 || write(fd, "ram\n", 4) != 4)
		return -1;
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return read_only;
}

/* Starts confined_run with one attempt; standard output goes to out_fd. */
static int start(const char *attempt, int out_fd, struct child *child,
		 struct error *err)
{
	AUTO_CLOSE int file = own_file(), null = open("/dev/null", O_RDWR);
	const struct child_fd fds[] = {
		{ null, 0 },
		{ out_fd, 1 },
		{ null, 2 },
		{ file, FILE_FD },
	};
	const char *argv[ARGS_MAX] = { runner,  "-s", shim, "-f",
				       "ram=9", "-d", "9" };
	const struct child_spec spec = {
		.path = runner,
		.argv = argv,
		.fds = fds,
		.fd_count = ARRAY_SIZE(fds),
		.prepare = prepare,
	};
	size_t n = 7;

	for (size_t i = 0; i < ARRAY_SIZE(mode_args) && mode_args[i]; i++)
		argv[n++] = mode_args[i];
	argv[n++] = "--";
	argv[n++] = probe;
	argv[n] = attempt;
	return child_spawn(&spec, child, err);
}

/* The exit code of confined_run, which is the probe's; output in out. */
static int attempt(const char *name, struct buffer *out)
{
	AUTO_CLOSE int read_end = -1;
	struct error err = { 0 };
	struct child child;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	read_end = ends[0];
	if (start(name, ends[1], &child, &err) < 0) {
		printf("# %s\n", err.text);
		close(ends[1]);
		return -1;
	}
	close(ends[1]);
	if (fileio_read_fd(read_end, out, &err) < 0 ||
	    child_wait(&child, &status, &err) < 0)
		return -1;
	return child_exit_code(status);
}

static int expected_code(const char *word)
{
	if (strcmp(word, "killed") == 0)
		return KILLED_BY_SECCOMP;
	return strcmp(word, "refused") == 0;
}

/* "killed\tname" a line. */
static void try_line(char *line, int *tried)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);
	char *name = strchr(line, '\t');
	int code;

	if (!name)
		return;
	*name++ = '\0';
	code = attempt(name, &out);
	if (code != expected_code(line))
		printf("# %s: should be %s: code %d, said: %s\n", name, line,
		       code, out.len ? buffer_str(&out) : "");
	CHECK(code == expected_code(line));
	(*tried)++;
}

static void try_everything(void)
{
	const char *const argv[] = { probe, "list", NULL };
	const struct child_spec spec = { .path = probe, .argv = argv };
	AUTO_BUFFER struct buffer list = BUFFER_INIT(65536);
	struct error err = { 0 };
	char *line, *rest;
	int tried = 0;

	REQUIRE(child_run(&spec, &list, &err) == 0);
	REQUIRE(buffer_str(&list) != NULL);
	rest = (char *)list.data;
	while ((line = strsep(&rest, "\n")) != NULL)
		try_line(line, &tried);
	CHECK(tried > 80);
}

static void it_is_the_first_process_of_its_own_namespace(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);

	CHECK(attempt("pid", &out) == 0);
	CHECK(out.len > 0 && strcmp(buffer_str(&out), "1\n") == 0);
}

/* Until end of file on fd, which comes when the last holder is gone. */
static bool ends_within(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&poll_fd, 1, timeout_ms) == 1 && read(fd, &byte, 1) == 0;
}

static void it_dies_with_the_process_that_started_it(void)
{
	AUTO_CLOSE int read_end = -1;
	struct error err = { 0 };
	struct child child;
	char text[8] = "";
	int ends[2], status;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	read_end = ends[0];
	REQUIRE(start("wait", ends[1], &child, &err) == 0);
	close(ends[1]);
	CHECK(read(read_end, text, sizeof(text)) == 8);
	CHECK(memcmp(text, "waiting\n", 8) == 0);
	kill(child.pid, SIGKILL);
	CHECK(child_wait(&child, &status, &err) == 0);
	CHECK(ends_within(read_end, 1000));
}

static void its_memory_may_be_read_by_the_process_that_started_it(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);

	CHECK(attempt("wait", &out) == 0);
}

static void a_program_that_cannot_be_started_is_an_error(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);
	const char *real = probe;

	probe = "/nowhere/at/all";
	CHECK(attempt("wait", &out) == 125);
	probe = real;
}

static void set_mode(const char *a, const char *b, const char *c)
{
	mode_args[0] = a;
	mode_args[1] = b;
	mode_args[2] = c;
}

static void everything_is_refused_when_the_supervisor_is_free(void)
{
	try_everything();
}

static void everything_is_refused_when_the_supervisor_is_locked_first(void)
{
	try_everything();
}

static void everything_is_refused_without_namespaces(void)
{
	try_everything();
}

static void run_all(bool namespaces)
{
	bool root = geteuid() == 0;

	set_mode("-u", root ? ORDINARY : "0", NULL);
	RUN(everything_is_refused_when_the_supervisor_is_free);
	if (namespaces)
		RUN(it_is_the_first_process_of_its_own_namespace);
	else
		SKIP(it_is_the_first_process_of_its_own_namespace,
		     "no user namespaces here");
	RUN(it_dies_with_the_process_that_started_it);
	set_mode("-l", "-u", root ? ORDINARY : "0");
	RUN(everything_is_refused_when_the_supervisor_is_locked_first);
	RUN(it_dies_with_the_process_that_started_it);
	RUN(a_program_that_cannot_be_started_is_an_error);
	mode_args[3] = "-r";
	RUN(its_memory_may_be_read_by_the_process_that_started_it);
	mode_args[3] = NULL;
	if (!namespaces) {
		SKIP(everything_is_refused_without_namespaces, "as above");
		return;
	}
	/* Root cannot drop in a namespace that maps root alone; it need not. */
	set_mode("-l", NULL, NULL);
	refuse_namespaces = true;
	RUN(everything_is_refused_without_namespaces);
	RUN(it_dies_with_the_process_that_started_it);
}

int main(int argc, char **argv)
{
	struct isolate_report report;

	if (CONFINEMENT_SANITIZED) {
		SKIP(confined, CONFINEMENT_SANITIZED_WHY);
		return DONE();
	}
	if (argc != 4)
		return 2;
	runner = realpath(argv[1], NULL);
	probe = realpath(argv[2], NULL);
	shim = realpath(argv[3], NULL);
	if (!runner || !probe || !shim)
		return 2;
	isolate_probe(&report);
	run_all(report.user_namespaces);
	return DONE();
}
