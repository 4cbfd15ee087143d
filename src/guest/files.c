/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - PID 1's side of the files relay
 */
#include "guest/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/gate.h"
#include "guest/port.h"

#define PORT_WAIT_MS 2000
#define TAKEN_WAIT_MS 2000
#define DEATHS_MAX 20
#define DEATHS_MS 60000

static void start_relay(struct files *files, bool again);

static void lose_control(struct files *files)
{
	if (files->control.fd < 0)
		return;
	loop_del(&files->control);
	close(files->control.fd);
	files->control.fd = -1;
}

static void on_control(struct source *source, uint32_t events)
{
	struct files *files = CONTAINER_OF(source, struct files, control);
	struct relay_message message;
	ssize_t n = recv(source->fd, &message, sizeof(message), MSG_DONTWAIT);

	if (n != (ssize_t)sizeof(message)) {
		if (n >= 0 || errno != EAGAIN)
			lose_control(files); /* it dies; SIGCHLD follows */
		return;
	}
	if (message.type != RELAY_READY)
		return;
	message.problem[sizeof(message.problem) - 1] = '\0';
	text_copy(files->problem, sizeof(files->problem), message.problem);
	files->on_ready(files->ctx);
}

static _Noreturn void run_relay(const struct files *files, int control,
				bool again)
{
	struct relay_start start = {
		.port_fd = files->port_fd,
		.control_fd = control,
		.log_fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC),
		.shared = files->shared,
		.again = again,
	};

	relay_run(&start);
}

static void start_relay(struct files *files, bool again)
{
	int ends[2];
	struct error err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		log_error("files relay: %s", strerror(errno));
		return;
	}
	files->pid = fork();
	if (files->pid == 0)
		run_relay(files, ends[1], again);
	close(ends[1]);
	files->control.fd = ends[0];
	if (files->pid < 0 || loop_add(files->loop, &files->control, &err)) {
		log_error("files relay: it cannot be started");
		if (files->pid > 0)
			kill(files->pid, SIGKILL);
		lose_control(files);
		files->pid = 0;
	}
}

void files_start(struct files *files, struct loop *loop)
{
	struct error err;
	void *memory;

	files->loop = loop;
	files->control = (struct source){ .name = "files relay",
					  .fd = -1,
					  .events = EPOLLIN,
					  .on_event = on_control };
	files->port_fd = port_find(FILES_PORT_NAME, PORT_WAIT_MS, &err);
	if (files->port_fd < 0) {
		log_info("no shared folders: %s", err.text);
		return;
	}
	memory = mmap(NULL, sizeof(*files->shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || gate_init()) {
		log_error("files relay: %s", strerror(errno));
		return;
	}
	files->shared = memory;
	start_relay(files, false);
}

bool files_works(const struct files *files)
{
	return files->pid > 0;
}

uint32_t files_changes(const struct files *files)
{
	return files->shared ? __atomic_load_n(&files->shared->early,
					       __ATOMIC_ACQUIRE)
			     : 0;
}

bool files_has(const struct files *files, uint32_t changes)
{
	/* They wrap. */
	return !files->shared || !files_works(files) ||
	       (int32_t)(__atomic_load_n(&files->shared->made,
					 __ATOMIC_ACQUIRE) -
			 changes) >= 0;
}

bool files_on_exit(struct files *files, pid_t pid)
{
	uint64_t now = loop_now_ms();

	if (pid != files->pid || !pid)
		return false;
	files->pid = 0;
	lose_control(files);
	if (files->finishing)
		return true;
	if (now - files->first_death_ms > DEATHS_MS) {
		files->first_death_ms = now;
		files->deaths = 0;
	}
	if (++files->deaths > DEATHS_MAX) {
		log_error("files relay: killed too often, not started again");
		gate_open();
		return true;
	}
	log_limited(LOG_LEVEL_WARN, "files relay: was killed: starting it");
	start_relay(files, true);
	return true;
}

static int tell(struct files *files, enum relay_message_type type,
		const uint8_t *marker)
{
	struct relay_message message = { .type = type };

	if (files->control.fd < 0)
		return -1;
	if (marker)
		memcpy(message.marker, marker, sizeof(message.marker));
	return send(files->control.fd, &message, sizeof(message),
		    MSG_NOSIGNAL | MSG_DONTWAIT) < 0
		       ? -1
		       : 0;
}

void files_prepare(struct files *files,
		   const uint8_t marker[RECORD_MARKER_BYTES])
{
	uint64_t deadline = loop_now_ms() + TAKEN_WAIT_MS, now;
	struct relay_message message = { 0 };
	struct pollfd ready = { .fd = files->control.fd, .events = POLLIN };

	if (!files_works(files))
		return;
	gate_reset();
	if (tell(files, RELAY_MARKER, marker))
		return;
	while (message.type != RELAY_TAKEN &&
	       (now = loop_now_ms()) < deadline) {
		if (poll(&ready, 1, (int)(deadline - now)) <= 0 ||
		    recv(ready.fd, &message, sizeof(message), MSG_DONTWAIT) <=
			    0)
			break;
	}
	if (message.type != RELAY_TAKEN)
		log_warn("the files relay does not answer");
}

void files_finish(struct files *files)
{
	files->finishing = true;
	if (tell(files, RELAY_FINISH, NULL) && files->pid > 0)
		kill(files->pid, SIGKILL);
}
