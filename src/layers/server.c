/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - bawn-net's questions about layers, and what it puts in
 */
#include "layers/server.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "ipc/packet.h"
#include "layers/store.h"

enum {
	SLOTS = 16,
	PIPE_BYTES = 1 << 20,
	READS_PER_EVENT = 4,
	PACKETS_PER_EVENT = 16,
	REGISTRY_MAX = 300,
};

struct server;

/* One layer on its way in. */
struct slot {
	struct server *server;
	struct source pipe;        /* owns its descriptor; -1: free */
	struct store_entry *entry; /* owned */
};

struct server {
	struct loop *loop;
	struct store store;
	struct source requests; /* its descriptor is the caller's */
	struct slot slots[SLOTS];
	struct error failure;
	uint8_t bytes[PIPE_BYTES];
};

static void free_slot(struct slot *slot)
{
	loop_del(&slot->pipe);
	close(slot->pipe.fd);
	slot->pipe.fd = -1;
	slot->entry = NULL;
}

static void give_up(struct slot *slot)
{
	store_drop(slot->entry);
	free_slot(slot);
}

static void on_pipe(struct source *source, uint32_t events)
{
	struct slot *slot = CONTAINER_OF(source, struct slot, pipe);
	uint8_t *bytes = slot->server->bytes;

	for (int i = 0; i < READS_PER_EVENT; i++) {
		ssize_t n = read(source->fd, bytes, PIPE_BYTES);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == 0) {
			store_end(slot->entry);
			free_slot(slot);
			return;
		}
		if (n < 0 || store_add(slot->entry, bytes, (size_t)n) < 0) {
			give_up(slot);
			return;
		}
	}
}

static struct slot *find_slot(struct server *server)
{
	for (size_t i = 0; i < SLOTS; i++) {
		if (server->slots[i].pipe.fd < 0)
			return &server->slots[i];
	}
	return NULL;
}

/* The end to write to, the caller's; -1: none. */
static int open_slot(struct server *server, const char *name)
{
	struct slot *slot = find_slot(server);
	struct error err = { 0 };
	int ends[2];

	if (!slot || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	slot->pipe.fd = ends[0];
	slot->entry = store_begin(&server->store, name);
	/* As large as the user may have it. */
	(void)!fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	if (slot->entry && loop_add(server->loop, &slot->pipe, &err) == 0)
		return ends[1];
	give_up(slot);
	close(ends[1]);
	return -1;
}

static void answer(struct server *server, json_t *packet, int fd)
{
	struct error err = { 0 };

	if (packet_send(server->requests.fd, packet, &fd, fd >= 0, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "bawn-net does not read: %s",
			    err.text);
}

static void get(struct server *server, json_int_t id, const char *name)
{
	uint64_t size = 0;
	AUTO_CLOSE int fd = store_get(&server->store, name, &size);

	if (fd >= 0) {
		answer(server,
		       json_pack("{s:s, s:I, s:I}", "op", "have", "id", id,
				 "size", (json_int_t)size),
		       fd);
		return;
	}
	fd = open_slot(server, name);
	answer(server,
	       json_pack("{s:s, s:I}", "op", fd >= 0 ? "want" : "none", "id",
			 id),
	       fd);
}

static void on_packet(struct server *server, const struct packet *packet)
{
	const char *op, *registry, *digest;
	char name[STORE_NAME_SIZE];
	json_int_t id;

	if (json_unpack_ex(packet->json, NULL, JSON_STRICT,
			   "{s:s, s:I, s:s, s:s}", "op", &op, "id", &id,
			   "registry", &registry, "digest", &digest) < 0 ||
	    strcmp(op, "get") != 0 || strlen(registry) > REGISTRY_MAX ||
	    store_name(digest, registry, name) < 0) {
		log_limited(LOG_LEVEL_WARN, "bawn-net: unknown packet");
		return;
	}
	get(server, id, name);
}

static void on_request(struct source *source, uint32_t events)
{
	struct server *server = CONTAINER_OF(source, struct server, requests);

	for (int i = 0; i < PACKETS_PER_EVENT; i++) {
		struct packet packet;
		int got = packet_receive(source->fd, &packet, &server->failure);

		if (got == 0)
			return;
		if (got < 0) {
			loop_stop(server->loop);
			return;
		}
		on_packet(server, &packet);
		packet_release(&packet);
	}
}

/* What is on its way was cut, unless it is whole. */
static void finish(struct server *server)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *slot = &server->slots[i];

		while (slot->pipe.fd >= 0 &&
		       fcntl(slot->pipe.fd, F_SETFL, 0) == 0)
			on_pipe(&slot->pipe, EPOLLIN);
	}
}

int server_run(int peer, int folder, uint64_t max_bytes, struct error *err)
{
	static struct server server;

	store_open(&server.store, folder, max_bytes);
	server.loop = loop_new(err);
	if (!server.loop)
		return -1;
	for (size_t i = 0; i < SLOTS; i++) {
		server.slots[i].server = &server;
		server.slots[i].pipe = (struct source){ .name = "layer",
							.fd = -1,
							.events = EPOLLIN,
							.on_event = on_pipe };
	}
	server.requests = (struct source){ .name = "bawn-net",
					   .fd = peer,
					   .events = EPOLLIN,
					   .on_event = on_request };
	if (loop_add(server.loop, &server.requests, err) < 0 ||
	    loop_run(server.loop, err) < 0)
		return -1;
	finish(&server);
	loop_free(server.loop);
	if (server.failure.code == ECONNRESET)
		return 0;
	*err = server.failure;
	return -1;
}
