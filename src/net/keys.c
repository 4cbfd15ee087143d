/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - secrets as bawn-keys tells them
 */
#include "net/keys.h"

#include <jansson.h>
#include <poll.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "ipc/packet.h"
#include "net/bindings.h"
#include "net/gate.h"

#define PACKETS_PER_EVENT 4
/* A command of the user's may ask them something. */
#define FIRST_MS 10000

static void answer(struct keys *keys, const struct error *why)
{
	json_t *json = json_pack("{s:s}", "op", "taken");
	struct error err = { 0 };

	if (why)
		json_object_set_new(json, "error", json_string(why->text));
	if (packet_send(keys->source.fd, json, NULL, 0, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "bawn-keys does not read: %s",
			    err.text);
}

static void take_list(struct keys *keys, struct packet *packet)
{
	AUTO_CLOSE int fd = packet_take_fd(packet, 0);
	struct error err = { 0 };
	struct bindings *list;

	if (fd < 0 || strcmp(packet_op(packet), "secrets") != 0) {
		log_limited(LOG_LEVEL_WARN, "bawn-keys: unknown packet");
		return;
	}
	list = bindings_read(fd, &err);
	if (!list) {
		/* What is in force may be what was to be taken back. */
		log_error("%s", err.text);
		gate_use_bindings(keys->gate, NULL);
		answer(keys, &err);
		return;
	}
	gate_use_bindings(keys->gate, list);
	answer(keys, NULL);
}

/* False: there is nothing more now. */
static bool receive(struct keys *keys)
{
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(keys->source.fd, &packet, &err);

	if (got < 0) {
		log_warn("no more secrets come: %s", err.text);
		loop_del(&keys->source);
		return false;
	}
	if (got == 0)
		return false;
	take_list(keys, &packet);
	packet_release(&packet);
	return true;
}

static void on_event(struct source *source, uint32_t events)
{
	struct keys *keys = CONTAINER_OF(source, struct keys, source);

	for (int i = 0; i < PACKETS_PER_EVENT && receive(keys); i++)
		;
}

int keys_init(struct keys *keys, struct gate *gate, int fd, struct error *err)
{
	*keys = (struct keys){ .gate = gate };
	keys->source = (struct source){ .name = "bawn-keys",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_event };
	return fd < 0 ? 0 : loop_add(gate->loop, &keys->source, err);
}

void keys_wait(struct keys *keys)
{
	struct pollfd one = { .fd = keys->source.fd, .events = POLLIN };

	if (one.fd < 0)
		return;
	if (poll(&one, 1, FIRST_MS) <= 0)
		log_warn("no secrets came in time");
	else
		(void)receive(keys);
}

void keys_release(struct keys *keys)
{
	loop_del(&keys->source);
}
