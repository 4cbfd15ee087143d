/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_child.c - unit tests of base/child.h
 *
 * The test starts itself as the child, with a word that says what to do.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/tap.h"

static char self[4096];

#define ARGV(...) ((const char *const[]){ self, __VA_ARGS__, NULL })

/* The words: each prints what the tests then compare. */

static int say_fds(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	}
	return 0;
}

static int say_content(int count)
{
	for (int fd = 3; fd < 3 + count; fd++) {
		char text[16] = "";

		if (pread(fd, text, sizeof(text) - 1, 0) < 0)
			return 1;
		printf("%d=%s ", fd, text);
	}
	return 0;
}

static int say_signals(void)
{
	struct sigaction action;
	sigset_t mask;
	int odd = 0;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	/* Handlers end with exec; those of a sanitizer are the child's own. */
	for (int i = 1; i < 32; i++) {
		if (sigaction(i, NULL, &action) == 0 &&
		    action.sa_handler == SIG_IGN)
			odd++;
		odd += sigismember(&mask, i);
	}
	printf("%d", odd);
	return 0;
}

static int say_env(void)
{
	extern char **environ;

	for (char **entry = environ; *entry; entry++)
		printf("%s;", *entry);
	return 0;
}

static int flood(void)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 64; i++) {
		if (write(2, block, sizeof(block)) < 0 ||
		    write(1, block, sizeof(block)) < 0)
			return 1;
	}
	return write(2, "\nlast words\n\n", 13) == 13 ? 3 : 1;
}

/* Leaves a process behind that holds both pipes, and ends. */
static int leave_daemon(void)
{
	printf("early");
	fflush(stdout);
	if (fork() == 0) {
		char byte;

		/* Until the test ends us through the pipe on 3. */
		_exit(read(3, &byte, 1) < 0);
	}
	return 0;
}

static int child_word(const char *word)
{
	int deathsig = 0;

	if (strcmp(word, "fds") == 0)
		return say_fds();
	if (text_starts(word, "content"))
		return say_content(word[7] - '0');
	if (strcmp(word, "signals") == 0)
		return say_signals();
	if (strcmp(word, "env") == 0)
		return say_env();
	if (strcmp(word, "flood") == 0)
		return flood();
	if (strcmp(word, "daemon") == 0)
		return leave_daemon();
	if (strcmp(word, "session") == 0)
		return getsid(0) == getpid() ? 0 : 1;
	if (strcmp(word, "deathsig") == 0)
		return prctl(PR_GET_PDEATHSIG, &deathsig) == 0 ? deathsig : 99;
	if (strcmp(word, "kill") == 0)
		return raise(SIGKILL);
	if (strcmp(word, "forever") == 0)
		return pause();
	if (strcmp(word, "escape") == 0)
		return fputs("oops \x1b[31m\n", stderr) < 0 ? 0 : 4;
	return 42;
}

/* Runs ourselves with the word; the output or NULL. */
static const char *output_of(struct child_spec spec, const char *word,
			     struct error *err)
{
	static struct buffer out = BUFFER_INIT(1 << 20);

	buffer_release(&out);
	spec.path = self;
	spec.argv = ARGV(word);
	return child_run(&spec, &out, err) < 0 ? NULL : buffer_str(&out);
}

static bool says(struct child_spec spec, const char *word, const char *want)
{
	struct error err = { 0 };
	const char *got = output_of(spec, word, &err);

	if (got && strcmp(got, want) == 0)
		return true;
	printf("# got \"%s\" (%s), want \"%s\"\n", got ? got : "nothing",
	       err.text, want);
	return false;
}

static int memfd_with(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	return fd;
}

static void child_has_no_descriptor_but_the_listed(void)
{
	AUTO_CLOSE int stray = open("/dev/null", O_RDONLY);
	AUTO_CLOSE int high = fcntl(stray, F_DUPFD, 500);
	const struct child_fd fds[] = { { stray, 7 }, { stray, 30 } };

	CHECK(high >= 500);
	CHECK(says((struct child_spec){ 0 }, "fds", "0 1 2 "));
	CHECK(says((struct child_spec){ .fds = fds, .fd_count = 2 }, "fds",
		   "0 1 2 7 30 "));
}

static void overlapping_descriptors_arrive_where_they_should(void)
{
	AUTO_CLOSE int a = fcntl(memfd_with("a"), F_DUPFD_CLOEXEC, 3);
	AUTO_CLOSE int b = memfd_with("b");
	AUTO_CLOSE int c = memfd_with("c");
	struct child_fd fds[] = { { a, 3 }, { b, 4 }, { c, 5 }, { a, 6 } };
	struct child_spec spec = { .fds = fds, .fd_count = 4 };

	CHECK(says(spec, "content4", "3=a 4=b 5=c 6=a "));
	/* Each source is another one's target. */
	REQUIRE(dup2(a, 20) == 20 && dup2(b, 21) == 21 && dup2(c, 22) == 22);
	fds[0] = (struct child_fd){ 20, 21 };
	fds[1] = (struct child_fd){ 21, 22 };
	fds[2] = (struct child_fd){ 22, 20 };
	spec.fd_count = 3;
	CHECK(says(spec, "fds", "0 1 2 20 21 22 "));
	REQUIRE(dup2(20, 43) == 43 && dup2(21, 44) == 44);
	fds[0] = (struct child_fd){ 43, 4 };
	fds[1] = (struct child_fd){ 44, 3 };
	spec.fd_count = 2;
	CHECK(says(spec, "content2", "3=b 4=a "));
	for (int fd = 20; fd < 23; fd++)
		close(fd);
	close(43);
	close(44);
}

static void failed_exec_is_reported_in_words(void)
{
	struct child_spec spec = { .path = "/nonexistent/tool",
				   .argv = ARGV("x") };
	struct child child;
	struct error err;

	CHECK(child_spawn(&spec, &child, &err) == -1);
	CHECK(err.code == ENOENT);
	CHECK(strcmp(err.text,
		     "/nonexistent/tool: No such file or directory") == 0);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	spec.path = "tool";
	CHECK(child_spawn(&spec, &child, &err) == -1);
	CHECK(strstr(err.text, "absolute"));
}

static int refuse(void *ctx, struct error *err)
{
	return error_set(err, EPERM, "%s", (const char *)ctx);
}

static void failed_prepare_is_reported_in_words(void)
{
	struct child_spec spec = { .path = self,
				   .argv = ARGV("x"),
				   .prepare = refuse,
				   .prepare_ctx = "not today" };
	struct child child;
	struct error err;

	CHECK(child_spawn(&spec, &child, &err) == -1);
	CHECK(err.code == EPERM && text_starts(err.text, "not today: "));
	CHECK(child_spawn(&spec, &child, NULL) == -1);
}

static void bad_descriptor_is_an_error(void)
{
	struct child_fd fd = { 900, 3 };
	struct child_spec spec = {
		.path = self, .argv = ARGV("x"), .fds = &fd, .fd_count = 1
	};
	struct child child;
	struct error err;

	CHECK(child_spawn(&spec, &child, &err) == -1 && err.code == EBADF);
	fd.from = -1;
	CHECK(child_spawn(&spec, &child, &err) == -1 && err.code == EBADF);
}

static void nothing(int signal)
{
}

static void signals_of_the_child_are_default(void)
{
	sigset_t set, before, after;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal(SIGUSR2, nothing);
	signal(SIGPIPE, SIG_IGN);
	CHECK(says((struct child_spec){ 0 }, "signals", "0"));
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGTERM) && !sigismember(&after, SIGINT));
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void environment_is_exactly_the_given_one(void)
{
	static const char *const env[] = { "A=1", "B=2", NULL };

	CHECK(says((struct child_spec){ .env = env }, "env", "A=1;B=2;"));
	CHECK(says((struct child_spec){ 0 }, "env", ""));
}

/* In a process of its own: it closes what TAP needs. */
static int spawn_with_closed_stdio(unsigned flags)
{
	AUTO_CLOSE int out = memfd_create("out", MFD_CLOEXEC);
	char text[64] = "";
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		AUTO_CLOSE int copy = fcntl(out, F_DUPFD_CLOEXEC, 100);
		struct child_fd fd = { copy, 1 };
		struct child_spec spec = {
			.path = self,
			.argv = ARGV("fds"),
			.fds = &fd,
			.fd_count = 1,
			.flags = flags,
		};
		struct child child;

		close(out);
		close(0);
		close(1);
		close(2);
		_exit(child_spawn(&spec, &child, NULL) < 0 ||
		      child_wait(&child, &status, NULL) < 0 || status);
	}
	waitpid(pid, &status, 0);
	if (pread(out, text, sizeof(text) - 1, 0) < 0)
		return -1;
	printf("# closed stdio: %s\n", text);
	return status == 0 && strcmp(text, "0 1 2 ") == 0 ? 0 : -1;
}

static void stdio_is_open_although_the_parent_closed_it(void)
{
	CHECK(spawn_with_closed_stdio(0) == 0);
	CHECK(spawn_with_closed_stdio(CHILD_NULL_STDIO) == 0);
}

static void session_and_death_signal_are_set(void)
{
	struct error err = { 0 };
	struct child_spec spec = { .flags = CHILD_NEW_SESSION };

	CHECK(output_of(spec, "session", &err));
	spec.flags = 0;
	CHECK(!output_of(spec, "session", &err));
	spec.flags = CHILD_DIE_WITH_US;
	CHECK(!output_of(spec, "deathsig", &err));
	CHECK(text_ends(err.text, "exit code 9"));
	spec.flags = 0;
	CHECK(output_of(spec, "deathsig", &err));
}

static int become_nobody(void *ctx, struct error *err)
{
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return error_set(err, errno, "nobody");
	return 0;
}

static void death_signal_survives_a_change_of_user(void)
{
	struct error err = { 0 };
	struct child_spec spec = {
		.path = "/proc/self/exe",
		.argv = ARGV("deathsig"),
		.flags = CHILD_DIE_WITH_US,
		.prepare = become_nobody,
	};

	CHECK(child_run(&spec, NULL, &err) == -1);
	CHECK(text_ends(err.text, "exit code 9"));
}

static void pidfd_tells_the_end(void)
{
	struct child_spec spec = { .path = self, .argv = ARGV("forever") };
	struct child child;
	struct pollfd fd = { .events = POLLIN };
	int status;

	REQUIRE(child_spawn(&spec, &child, NULL) == 0);
	fd.fd = child.pidfd;
	CHECK(poll(&fd, 1, 0) == 0);
	CHECK(kill(child.pid, SIGTERM) == 0);
	CHECK(poll(&fd, 1, 5000) == 1);
	CHECK(child_wait(&child, &status, NULL) == 0);
	CHECK(child_exit_code(status) == 128 + SIGTERM);
	CHECK(child.pid == -1 && child.pidfd == -1);
}

static void exit_codes_count_as_in_shells(void)
{
	CHECK(child_exit_code(0) == 0);
	CHECK(child_exit_code(7 << 8) == 7);
	CHECK(child_exit_code(SIGKILL) == 137);
}

static void run_quotes_the_last_line_of_stderr(void)
{
	struct child_spec spec = { 0 };
	struct error err = { 0 };

	CHECK(!output_of(spec, "flood", &err));
	CHECK(text_ends(err.text, ": exit code 3: last words"));
	CHECK(!output_of(spec, "escape", &err));
	CHECK(text_ends(err.text, ": exit code 4: oops \\x1b[31m"));
	CHECK(!output_of(spec, "kill", &err));
	CHECK(text_ends(err.text, ": killed by signal 9"));
	CHECK(!output_of(spec, "unknown", &err));
	CHECK(text_ends(err.text, ": exit code 42"));
}

static void run_collects_all_output_or_says_too_much(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(1 << 20);
	AUTO_BUFFER struct buffer small = BUFFER_INIT(100);
	struct child_spec spec = { .path = self, .argv = ARGV("flood") };
	struct error err = { 0 };

	CHECK(child_run(&spec, &out, &err) == -1 && out.len == 64 * 4096);
	CHECK(child_run(&spec, &small, &err) == -1 && err.code == EFBIG);
	CHECK(child_run(&spec, NULL, &err) == -1);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void run_does_not_wait_for_a_daemon_that_holds_the_pipes(void)
{
	int ends[2];
	struct child_fd fd;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	fd = (struct child_fd){ ends[0], 3 };
	CHECK(says((struct child_spec){ .fds = &fd, .fd_count = 1 }, "daemon",
		   "early"));
	close(ends[0]);
	close(ends[1]);
}

static void tools_come_from_system_folders_only(void)
{
	struct error err = { 0 };
	const char *shell = child_tool("sh", &err);

	CHECK(shell && shell[0] == '/' && text_ends(shell, "bin/sh"));
	CHECK(child_tool("sh", &err) == shell);
	CHECK(!child_tool("no-such-tool-here", &err) && err.code == ENOENT);
	CHECK(!child_tool("../bin/sh", &err));
	CHECK(!child_tool("", &err));
}

int main(int argc, char **argv)
{
	ssize_t len;

	if (argc > 1)
		return child_word(argv[1]);
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return 1;
	RUN(child_has_no_descriptor_but_the_listed);
	RUN(overlapping_descriptors_arrive_where_they_should);
	RUN(failed_exec_is_reported_in_words);
	RUN(failed_prepare_is_reported_in_words);
	RUN(bad_descriptor_is_an_error);
	RUN(signals_of_the_child_are_default);
	RUN(environment_is_exactly_the_given_one);
	RUN(stdio_is_open_although_the_parent_closed_it);
	RUN(session_and_death_signal_are_set);
	if (geteuid() == 0)
		RUN(death_signal_survives_a_change_of_user);
	else
		SKIP(death_signal_survives_a_change_of_user, "needs root");
	RUN(pidfd_tells_the_end);
	RUN(exit_codes_count_as_in_shells);
	RUN(run_quotes_the_last_line_of_stderr);
	RUN(run_collects_all_output_or_says_too_much);
	RUN(run_does_not_wait_for_a_daemon_that_holds_the_pipes);
	RUN(tools_come_from_system_folders_only);
	return DONE();
}
