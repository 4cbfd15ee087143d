/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_sockets.c - shared Unix sockets
 *
 * A path may lie anywhere, also in a shared folder, where every step waits for
 * the host: a child binds the socket and tells by a byte in a pipe that it is
 * done. The relay holds the same socket and listens on it then.
 */
#include "guest/net_relay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/steady.h"

#define QUEUE 128
#define PATH_MAX_BYTES 1024
#define BOUND 'b'

enum { /* descriptors of the child */
       FD_SOCKET = 3,
       FD_REPORT,
};

static void on_connection(struct net_listener *listener, int fd)
{
	struct net_relay *relay = listener->relay;
	uint32_t id = net_relay_next_stream(relay);
	struct mux_stream *stream = mux_stream_open(&relay->mux, id, NULL);
	struct net_message message = {
		.type = NET_OPEN_SOCKET,
		.open_socket = { .stream = id, .index = listener->index },
	};

	if (!stream || net_relay_send(relay, &message)) {
		if (stream)
			mux_stream_close(stream, ENOBUFS);
		close(fd);
		return;
	}
	net_conn_add(relay, fd, stream);
}

/* In its folder, because a socket's address is short. */
static int enter_folder(const char *path, const char **name)
{
	char folder[PATH_MAX_BYTES];
	const char *slash = strrchr(path, '/');
	struct error err;

	*name = slash + 1;
	if (text_format(folder, sizeof(folder), "%.*s", (int)(slash - path),
			path))
		return -1;
	if (!folder[0])
		return chdir("/");
	if (fileio_mkdirs(folder, 0755, &err))
		return -1;
	return chdir(folder);
}

/* What is no socket is not ours. */
static void remove_socket(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int bind_here(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (text_copy(address.sun_path, sizeof(address.sun_path), name))
		return -1;
	remove_socket(name); /* of an earlier run */
	umask(0);
	return bind(FD_SOCKET, (struct sockaddr *)&address, sizeof(address));
}

static _Noreturn void run_child(const char *path, int socket_fd, int report)
{
	int fds[] = { socket_fd, report };
	const char *name;
	char bound = BOUND;

	steady_keep(fds, ARRAY_SIZE(fds));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bawn-bind");
	log_to(-1);
	if (!enter_folder(path, &name) && !bind_here(name) &&
	    write(FD_REPORT, &bound, 1) == 1)
		_exit(0);
	_exit(1);
}

static void stop_child(struct net_socket *item)
{
	loop_del(&item->report);
	if (item->report.fd >= 0)
		close(item->report.fd);
	item->report.fd = -1;
}

static void on_report(struct source *source, uint32_t events)
{
	struct net_socket *item =
		CONTAINER_OF(source, struct net_socket, report);
	char what = 0;
	bool bound = read(source->fd, &what, 1) == 1 && what == BOUND;

	stop_child(item);
	if (!bound || listen(item->listener.source.fd, QUEUE) ||
	    net_listener_start(&item->listener)) {
		log_limited(LOG_LEVEL_WARN, "socket %s: cannot be made",
			    item->path);
		net_listener_stop(&item->listener);
	}
}

static int start_child(struct net_relay *relay, struct net_socket *item)
{
	struct error err;
	int report[2];
	pid_t pid;

	if (pipe2(report, O_CLOEXEC | O_NONBLOCK))
		return -1;
	pid = fork();
	if (pid == 0)
		run_child(item->path, item->listener.source.fd, report[1]);
	close(report[1]);
	item->report.fd = report[0];
	if (pid > 0 && !loop_add(relay->loop, &item->report, &err))
		return 0;
	stop_child(item);
	return -1;
}

/* By a child, too; whether it succeeds is of no use to know. */
static void remove_later(const char *path)
{
	int fds[] = { -1 };

	if (fork() != 0)
		return;
	steady_keep(fds, ARRAY_SIZE(fds));
	prctl(PR_SET_NAME, "bawn-bind");
	remove_socket(path);
	_exit(0);
}

static void take_away(struct net_socket *item)
{
	stop_child(item);
	if (item->listener.source.fd >= 0)
		remove_later(item->path);
	net_listener_stop(&item->listener);
	free(item->path);
	item->path = NULL;
}

static bool is_path(const char *path)
{
	size_t len = strlen(path);

	return path[0] == '/' && len < PATH_MAX_BYTES && path[len - 1] != '/';
}

static void put(struct net_relay *relay, unsigned index, const char *path)
{
	struct net_socket *item = &relay->sockets[index];
	int fd;

	if (!is_path(path)) {
		log_limited(LOG_LEVEL_WARN, "socket %u: not a path", index);
		return;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	item->path = xstrdup(path);
	net_listener_init(&item->listener, relay, fd, on_connection);
	item->listener.index = (uint16_t)index;
	if (start_child(relay, item)) {
		log_limited(LOG_LEVEL_WARN, "socket %s: %s", path,
			    strerror(errno));
		take_away(item);
	}
}

/* What stays where it was is left alone: programs may be connecting. */
void net_sockets_set(struct net_relay *relay, const struct net_sockets *list)
{
	for (unsigned i = 0; i < NET_SOCKETS_MAX; i++) {
		struct net_socket *item = &relay->sockets[i];
		const char *path = i < list->count ? list->paths[i] : NULL;

		if (item->path && path && !strcmp(item->path, path) &&
		    item->listener.source.fd >= 0)
			continue;
		take_away(item);
		if (path)
			put(relay, i, path);
	}
}

void net_sockets_init(struct net_relay *relay)
{
	for (unsigned i = 0; i < NET_SOCKETS_MAX; i++) {
		struct net_socket *item = &relay->sockets[i];

		net_listener_init(&item->listener, relay, -1, on_connection);
		item->report = (struct source){ .name = "socket",
						.fd = -1,
						.events = EPOLLIN,
						.on_event = on_report };
	}
}
