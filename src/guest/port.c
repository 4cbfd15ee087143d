/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - the virtio-serial port to the supervisor
 */
#include "guest/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/sysfile.h"

#define CLASS_FOLDER "/sys/class/virtio-ports"
#define READS_PER_EVENT 16
#define DRIVER_BUFFER_BYTES 4096 /* what one read can give */
#define RECONNECT_MS 50
#define LOST_MS 30000

static bool has_name(int folder, const char *device, const char *name)
{
	char path[300], text[128];
	size_t len = strlen(name);

	if (text_format(path, sizeof(path), "%s/name", device) ||
	    sysfile_read(folder, path, text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strlen(text) == len && !memcmp(text, name, len);
}

static int open_device(const char *device)
{
	char path[300];

	if (text_format(path, sizeof(path), "/dev/%s", device))
		return -1;
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* -1 while there is no such port, or its node is not there yet. */
static int open_named(const char *name)
{
	__attribute__((cleanup(close_folder))) DIR *folder =
		opendir(CLASS_FOLDER);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] != '.' &&
		    has_name(dirfd(folder), entry->d_name, name))
			return open_device(entry->d_name);
	}
	return -1;
}

int port_find(const char *name, unsigned timeout_ms, struct error *err)
{
	uint64_t deadline = loop_now_ms() + timeout_ms;
	struct timespec pause = { .tv_nsec = 2000000 };
	int fd;

	/* The host names a port some time after it has appeared. */
	while ((fd = open_named(name)) < 0) {
		if (loop_now_ms() >= deadline)
			return error_set(err, ETIMEDOUT, "port %s", name);
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* A hang-up would be reported for ever: look again later. */
static void lost(struct port *port)
{
	uint64_t now = loop_now_ms();

	if (!port->lost_since_ms)
		port->lost_since_ms = now;
	if (now - port->lost_since_ms > LOST_MS) {
		port->on_broken(port->ctx, "the host's end is closed");
		return;
	}
	loop_del(&port->source);
	timer_start(port->loop, &port->reconnect, RECONNECT_MS);
}

static void on_reconnect(struct timer *timer)
{
	struct port *port = CONTAINER_OF(timer, struct port, reconnect);
	struct error err;

	if (loop_add(port->loop, &port->source, &err))
		port->on_broken(port->ctx, err.text);
}

static void receive(struct port *port)
{
	static uint8_t bytes[DRIVER_BUFFER_BYTES];
	struct error err;

	for (int i = 0; i < READS_PER_EVENT; i++) {
		ssize_t n = read(port->source.fd, bytes, sizeof(bytes));

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			lost(port);
			return;
		}
		port->lost_since_ms = 0;
		if (mux_input(port->mux, bytes, (size_t)n, &err)) {
			port->on_broken(port->ctx, err.text);
			return;
		}
		if (n < (ssize_t)sizeof(bytes))
			return; /* most likely all; else epoll says so */
	}
}

static void on_event(struct source *source, uint32_t events)
{
	struct port *port = CONTAINER_OF(source, struct port, source);

	if (events & EPOLLIN)
		receive(port);
	else if (events & (EPOLLHUP | EPOLLERR))
		lost(port);
	/* Output goes at the end of the round, in one write. */
}

int port_start(struct port *port, struct loop *loop, int fd, struct error *err)
{
	port->loop = loop;
	port->source = (struct source){ .name = "control port",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_event };
	port->reconnect = (struct timer){ .name = "control port",
					  .on_fire = on_reconnect };
	return loop_add(loop, &port->source, err);
}

/* False when the driver's queue is full. */
static bool write_pending(struct port *port)
{
	while (port->sent < port->pending) {
		ssize_t n = write(port->source.fd, port->bytes + port->sent,
				  port->pending - port->sent);

		if (n < 0 && errno == EINTR)
			continue;
		/* A full queue is EAGAIN or, seen from inside, 0. */
		if (n <= 0)
			return false;
		port->sent += (size_t)n;
	}
	return true;
}

bool port_flush(struct port *port)
{
	while (write_pending(port)) {
		port->sent = 0;
		port->pending = mux_output_copy(port->mux, port->bytes,
						sizeof(port->bytes));
		if (!port->pending) {
			loop_wait_for(&port->source, EPOLLIN);
			return true;
		}
	}
	loop_wait_for(&port->source, EPOLLIN | EPOLLOUT);
	return false;
}
