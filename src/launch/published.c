/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - listening sockets of the host for ports of the guest
 */
#include "launch/published.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

#define BACKLOG 128

union place {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t place_of(const struct port_record *port, union place *place)
{
	*place = (union place){ .v6 = { .sin6_family = AF_INET6 } };
	if (inet_pton(AF_INET6, port->address, &place->v6.sin6_addr) == 1) {
		place->v6.sin6_port = htons(port->host);
		return sizeof(place->v6);
	}
	*place = (union place){ .v4 = { .sin_family = AF_INET } };
	if (inet_pton(AF_INET, port->address, &place->v4.sin_addr) == 1) {
		place->v4.sin_port = htons(port->host);
		return sizeof(place->v4);
	}
	return 0;
}

static const char *advice(int code)
{
	if (code == EADDRINUSE)
		return " (another program or sandbox listens there)";
	if (code == EACCES)
		return " (ports below 1024 are root's)";
	if (code == EADDRNOTAVAIL)
		return " (no interface of this host has that address)";
	return "";
}

static int say(const struct port_record *port, int code, struct error *err)
{
	return error_say(err, code, "port %u of %s: %s%s", port->host,
			 port->address, strerror(code), advice(code));
}

static int listen_at(const struct port_record *port, struct error *err)
{
	union place place;
	socklen_t len = place_of(port, &place);
	AUTO_CLOSE int fd = -1;
	const int on = 1;

	if (!len)
		return say(port, EINVAL, err);
	fd = socket(place.any.sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (place.any.sa_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(fd, &place.any, len) < 0 || listen(fd, BACKLOG) < 0)
		return say(port, errno, err);
	return TAKE_FD(fd);
}

static const struct published_port *at_place(const struct published *list,
					     const struct port_record *port)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct port_record *has = &list->items[i].port;

		if (has->host == port->host &&
		    !strcmp(has->address, port->address))
			return &list->items[i];
	}
	return NULL;
}

/* old is what listens at the same place, or NULL. */
static int add(struct published *next, const struct port_record *port,
	       const struct published_port *old, enum published_mode mode,
	       struct error *err)
{
	struct published_port *one = &next->items[next->count];
	struct error why = { 0 };
	bool kept = old && port_record_same(&old->port, port);

	*one = (struct published_port){ .port = *port };
	one->fd = old && old->fd >= 0 ? fcntl(old->fd, F_DUPFD_CLOEXEC, 0)
				      : listen_at(port, &why);
	if (one->fd < 0 && mode == PUBLISHED_CHANGE && !kept) {
		if (err)
			*err = why;
		return -1;
	}
	text_copy(one->why, sizeof(one->why), why.text);
	one->id = kept && old->fd >= 0 ? old->id : ++next->last_id;
	next->count++;
	return 0;
}

int published_follow(const struct published *now, const struct port_list *ports,
		     enum published_mode mode, struct published *next,
		     struct error *err)
{
	*next = (struct published){ .last_id = now->last_id };
	for (size_t i = 0; i < ports->count; i++) {
		const struct port_record *port = &ports->items[i];

		if (add(next, port, at_place(now, port), mode, err) < 0)
			return -1;
	}
	return 0;
}

void published_stop(const struct published *now, const struct published *next)
{
	/* At once, although bawn-net has a copy of the descriptor. */
	for (size_t i = 0; i < now->count; i++) {
		if (now->items[i].fd >= 0 &&
		    !at_place(next, &now->items[i].port))
			shutdown(now->items[i].fd, SHUT_RDWR);
	}
}

const struct published_port *published_find(const struct published *list,
					    uint32_t id)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].id == id)
			return &list->items[i];
	}
	return NULL;
}

json_t *published_for_net(const struct published *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct published_port *one = &list->items[i];

		if (one->fd >= 0)
			json_array_append_new(
				array, json_pack("{s:I, s:i}", "id",
						 (json_int_t)one->id, "port",
						 (int)one->port.guest));
	}
	return array;
}

json_t *published_for_client(const struct published *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct published_port *one = &list->items[i];

		json_array_append_new(
			array, json_pack("{s:s, s:i, s:i, s:s?}", "address",
					 one->port.address, "host",
					 (int)one->port.host, "guest",
					 (int)one->port.guest, "error",
					 one->fd < 0 ? one->why : NULL));
	}
	return array;
}

void published_release(struct published *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].fd >= 0)
			close(list->items[i].fd);
	}
	list->count = 0;
}
