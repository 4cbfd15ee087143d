/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - packets between bawn-net and its launcher
 */
#include "net/control.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "ipc/packet.h"
#include "net/gate.h"
#include "net/published.h"
#include "net/sockets.h"
#include "net/target.h"

#define PACKETS_PER_EVENT 16

static int say(struct control *control, json_t *json)
{
	struct error err = { 0 };

	if (control->source.fd < 0) {
		json_decref(json);
		return -1;
	}
	if (packet_send(control->source.fd, json, NULL, 0, &err) < 0) {
		log_limited(LOG_LEVEL_WARN, "the launcher does not read: %s",
			    err.text);
		return -1;
	}
	return 0;
}

void control_say_ready(struct control *control)
{
	say(control, json_pack("{s:s}", "op", "ready"));
}

void control_say_welcomed(struct control *control)
{
	say(control, json_pack("{s:s}", "op", "welcomed"));
}

void control_say_rotate(struct control *control)
{
	say(control, json_pack("{s:s}", "op", "rotate"));
}

void control_say_traffic(struct control *control)
{
	say(control, json_pack("{s:s}", "op", "traffic"));
}

void control_say_asked(struct control *control, uint32_t id)
{
	say(control,
	    json_pack("{s:s, s:I}", "op", "asked", "id", (json_int_t)id));
}

int control_say_layers(struct control *control)
{
	return say(control, json_pack("{s:s}", "op", "layers"));
}

int control_say_socket(struct control *control, uint32_t id, unsigned index)
{
	return say(control, json_pack("{s:s, s:I, s:i}", "op", "socket", "id",
				      (json_int_t)id, "index", (int)index));
}

int control_say_ask(struct control *control, uint32_t id,
		    const struct target *target, enum audit_protocol protocol)
{
	char host[HOSTNAME_MAX + 1];

	target_host(target, host);
	return say(control,
		   json_pack("{s:s, s:I, s:s, s:i, s:s}", "op", "ask", "id",
			     (json_int_t)id, target->name ? "name" : "address",
			     host, "port", (int)target->port, "protocol",
			     audit_protocol_name(protocol)));
}

static int id_of(const struct packet *packet, uint32_t *id)
{
	json_t *json = json_object_get(packet->json, "id");

	if (!json_is_integer(json) || json_integer_value(json) < 0 ||
	    json_integer_value(json) > UINT32_MAX)
		return -1;
	*id = (uint32_t)json_integer_value(json);
	return 0;
}

static int on_config(struct gate *gate, struct packet *packet)
{
	AUTO_CLOSE int fd = packet_take_fd(packet, 0);
	struct error err = { 0 };

	if (fd < 0)
		return -1;
	if (gate_reconfigure(gate, fd, &err) < 0)
		say(&gate->control, json_pack("{s:s, s:s}", "op", "configured",
					      "error", err.text));
	else
		say(&gate->control, json_pack("{s:s}", "op", "configured"));
	return 0;
}

static int on_listener(struct gate *gate, struct packet *packet)
{
	uint32_t id;
	int fd = packet_take_fd(packet, 0);

	if (fd < 0)
		return -1;
	if (id_of(packet, &id) < 0) {
		close(fd);
		return -1;
	}
	published_listen(&gate->published, id, fd);
	return 0;
}

static int on_unlisten(struct gate *gate, struct packet *packet)
{
	uint32_t id;

	if (id_of(packet, &id) < 0)
		return -1;
	published_unlisten(&gate->published, id);
	return 0;
}

static int on_log(struct gate *gate, struct packet *packet)
{
	int fd = packet_take_fd(packet, 0);

	if (fd < 0)
		return -1;
	gate_use_log(gate, fd);
	return 0;
}

static int on_socket(struct gate *gate, struct packet *packet)
{
	uint32_t id;
	int fd = packet_take_fd(packet, 0);

	if (id_of(packet, &id) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	sockets_connected(&gate->sockets, id, fd);
	return 0;
}

static int on_layers(struct gate *gate, struct packet *packet)
{
	layers_use(&gate->layers, packet_take_fd(packet, 0));
	return 0;
}

static int on_answer(struct gate *gate, struct packet *packet)
{
	const char *verdict =
		json_string_value(json_object_get(packet->json, "verdict"));
	uint32_t id;

	if (id_of(packet, &id) < 0 || !verdict)
		return -1;
	asks_answer(&gate->asks, id,
		    strcmp(verdict, "allow") == 0 ? ASK_ALLOW : ASK_DENY);
	return 0;
}

static const struct {
	const char *op;
	int (*handle)(struct gate *gate, struct packet *packet);
} ops[] = {
	{ "config", on_config },     { "listener", on_listener },
	{ "unlisten", on_unlisten }, { "log", on_log },
	{ "socket", on_socket },     { "answer", on_answer },
	{ "layers", on_layers },
};

static void handle(struct control *control, struct packet *packet)
{
	const char *op = packet_op(packet);

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		if (strcmp(ops[i].op, op) != 0)
			continue;
		if (ops[i].handle(control->gate, packet) < 0)
			log_warn("a packet of the launcher is malformed");
		return;
	}
	log_warn("unknown packet of the launcher");
}

/* Without a launcher nobody could start a successor: the end. */
static void on_event(struct source *source, uint32_t events)
{
	struct control *control = CONTAINER_OF(source, struct control, source);

	for (int i = 0; i < PACKETS_PER_EVENT; i++) {
		struct error err = { 0 };
		struct packet packet;
		int got = packet_receive(source->fd, &packet, &err);

		if (got < 0) {
			gate_stop(control->gate, "the launcher has gone");
			return;
		}
		if (got == 0)
			return;
		handle(control, &packet);
		packet_release(&packet);
	}
}

int control_init(struct control *control, struct gate *gate, int fd,
		 struct error *err)
{
	*control = (struct control){ .gate = gate };
	control->source = (struct source){ .name = "launcher",
					   .fd = fd,
					   .events = EPOLLIN,
					   .on_event = on_event };
	return fd < 0 ? 0 : loop_add(gate->loop, &control->source, err);
}

void control_release(struct control *control)
{
	loop_del(&control->source);
}
