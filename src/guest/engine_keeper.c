/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_keeper.c - runs the Docker engine, and speaks for it if it fails
 */
#include "guest/engine_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/runtime.h"
#include "guest/trust.h"

#define FD_LISTENER 3 /* where LISTEN_FDS begins */
#define LOG_BYTES_MAX (16 * 1024 * 1024)
/* An engine that ends later than this had started. */
#define START_MS 120000
#define REQUEST_MS 500
#define TRIES 3
#define VARIABLES 8
#define VARIABLE_MAX 256

static volatile sig_atomic_t told_to_end;

static void on_term(int number)
{
	told_to_end = 1;
}

/* A new file when it has become too long: nobody rotates logs here. */
static int open_log(const char *path)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
			      O_NOCTTY | O_CLOEXEC,
		      0640);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_BYTES_MAX &&
	    ftruncate(fd, 0) < 0)
		log_debug("%s: %s", path, strerror(errno));
	return fd;
}

static void set_stdio(const char *log)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), out;

	mkdir("/var/log", 0755);
	out = open_log(log);
	if (out < 0)
		out = null;
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		_exit(127);
}

/* The engine pulls through the gate: it must trust the gate's authority. */
static unsigned add_trust(char texts[][VARIABLE_MAX], unsigned count)
{
	struct trust_variable known[TRUST_VARIABLES];
	unsigned found = trust_variables("", known);

	for (unsigned i = 0; i < found; i++) {
		if (strcmp(known[i].name, "SSL_CERT_FILE") == 0 &&
		    text_format(texts[count], VARIABLE_MAX, "%s=%s",
				known[i].name, known[i].value) == 0)
			count++;
	}
	return count;
}

static _Noreturn void exec_engine(const struct engine_keeper *keeper)
{
	char texts[VARIABLES][VARIABLE_MAX];
	const char *variables[VARIABLES + 1] = { NULL };
	const char *argv[] = { keeper->program, "-H", "fd://", NULL };
	unsigned count = 0;

	set_stdio(keeper->log);
	/* fcntl first: dup2 to its own number would leave FD_CLOEXEC set. */
	if (dup2(fcntl(keeper->listener, F_DUPFD_CLOEXEC, FD_LISTENER + 1),
		 FD_LISTENER) < 0 ||
	    syscall(SYS_close_range, FD_LISTENER + 1, ~0u, 0))
		_exit(127);
	text_format(texts[count++], VARIABLE_MAX,
		    "PATH=" RUNTIME_FOLDER
		    ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
		    "/sbin:/bin");
	text_format(texts[count++], VARIABLE_MAX, "HOME=/root");
	text_format(texts[count++], VARIABLE_MAX, "LISTEN_FDS=1");
	text_format(texts[count++], VARIABLE_MAX, "LISTEN_PID=%d", getpid());
	count = add_trust(texts, count);
	for (unsigned i = 0; i < count; i++)
		variables[i] = texts[i];
	if (chdir("/"))
		_exit(127);
	execve(keeper->program, (char *const *)argv, (char *const *)variables);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return 0;
	}
	return status;
}

/* The client shows the message as one of the engine. */
static void answer(int client, const char *log)
{
	struct pollfd ready = { .fd = client, .events = POLLIN };
	char body[512], text[768], request[4096];

	text_format(body, sizeof(body),
		    "{\"message\":\"the Docker engine of this sandbox does "
		    "not start: see %s\"}\n",
		    log);
	text_format(text, sizeof(text),
		    "HTTP/1.1 503 Service Unavailable\r\n"
		    "Content-Type: application/json\r\nConnection: close\r\n"
		    "Content-Length: %zu\r\n\r\n%s",
		    strlen(body), body);
	/* An answer before the question would be taken for a fault. */
	if (poll(&ready, 1, REQUEST_MS) > 0 &&
	    recv(client, request, sizeof(request), MSG_DONTWAIT) > 0 &&
	    send(client, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("docker: %s", strerror(errno));
}

static void answer_all(const struct engine_keeper *keeper)
{
	struct pollfd ready = { .fd = keeper->listener, .events = POLLIN };
	uint64_t now = loop_now_ms(), deadline = now + keeper->answer_ms;

	for (; now < deadline; now = loop_now_ms()) {
		if (poll(&ready, 1, (int)(deadline - now)) > 0) {
			AUTO_CLOSE int client = accept4(keeper->listener, NULL,
							NULL, SOCK_CLOEXEC);

			if (client >= 0)
				answer(client, keeper->log);
		}
	}
}

/* Its status; *lived_ms is how long it ran. */
static int run_once(const struct engine_keeper *keeper, uint64_t *lived_ms)
{
	uint64_t begin = loop_now_ms();
	pid_t pid = fork();
	int status;

	if (pid == 0)
		exec_engine(keeper);
	/* At power off the engine is asked, and we wait for it. */
	signal(SIGTERM, on_term);
	status = pid > 0 ? wait_for(pid) : -1;
	signal(SIGTERM, SIG_DFL);
	*lived_ms = loop_now_ms() - begin;
	return status;
}

_Noreturn void engine_keeper_run(const struct engine_keeper *keeper)
{
	uint64_t lived_ms = 0;
	int status = 0;

	prctl(PR_SET_NAME, "bawn-docker");
	for (int i = 0; i < TRIES && !told_to_end; i++) {
		status = run_once(keeper, &lived_ms);
		if (!status || lived_ms < keeper->slow_ms ||
		    lived_ms > START_MS)
			break;
	}
	if (status && lived_ms <= START_MS && !told_to_end) {
		log_limited(LOG_LEVEL_WARN, "docker: ended with status %x",
			    (unsigned)status);
		answer_all(keeper);
	}
	_exit(0);
}
