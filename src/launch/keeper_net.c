/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_net.c - the row of bawn-net
 */
#include "launch/keeper_net.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/host_trust.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "launch/net_files.h"
#include "launch/net_settings.h"
#include "launch/policy_append.h"

#define TRAFFIC_MS 200

static struct keeper_net *of(struct keeper *keeper)
{
	return CONTAINER_OF(keeper, struct keeper_net, keeper);
}

/* What the running process goes by; new ones count once it took them. */
static const json_t *in_force(const struct keeper_net *net)
{
	return net->keeper.settings_back ? net->keeper.settings_back
					 : net->keeper.settings;
}

static bool changing(const struct keeper_net *net)
{
	return net->keeper.settings_back != NULL;
}

/* Of the settings that are to be; for the start and for a change. */
static json_t *config(const struct keeper_net *net)
{
	const json_t *settings = net->keeper.settings;
	const struct published *published =
		net->has_next ? &net->next : &net->published;

	return json_pack("{s:O, s:O, s:O, s:O, s:O, s:O, s:o, s:o}", "policy",
			 json_object_get(settings, "policy"), "preset",
			 json_object_get(settings, "preset"), "ask_ms",
			 json_object_get(settings, "ask_ms"), "proxy",
			 json_object_get(settings, "proxy"), "resolver",
			 net->facts.resolver, "addresses", net->facts.addresses,
			 "published", published_for_net(published), "sockets",
			 net_settings_guest_sockets(settings));
}

static json_t *message(struct keeper *keeper)
{
	struct keeper_net *net = of(keeper);
	json_t *json = config(net);

	json_object_set_new(json, "sandbox", json_string(net->sandbox));
	json_object_set_new(json, "uid", json_integer(net->uid));
	json_object_set_new(json, "keys", json_boolean(net->has_keys));
	json_object_set_new(json, "ca", net_files_authority(net->files));
	return json;
}

static int open_extra(struct keeper *keeper, int extra[KEEPER_EXTRA],
		      struct error *err)
{
	int ends[2];

	extra[0] = net_files_names(of(keeper)->files, err);
	if (extra[0] < 0)
		return -1;
	extra[1] = net_files_log(of(keeper)->files, err);
	if (extra[1] < 0 || packet_pair(ends, err) < 0)
		return -1;
	extra[2] = ends[0];
	extra[3] = fcntl(of(keeper)->slots, F_DUPFD_CLOEXEC, 0);
	of(keeper)->on_keys(keeper->ctx, ends[1]);
	return 0;
}

/*
 * One that does not read what it is told is of no use: its successor gets
 * everything with its start message.
 */
static void send_packet(struct keeper_net *net, json_t *packet, int fd)
{
	struct error err = { 0 };

	if (!keeper_runs(&net->keeper)) {
		json_decref(packet);
		return;
	}
	if (packet_send(net->keeper.control.fd, packet, &fd, fd >= 0, &err) ==
	    0)
		return;
	log_limited(LOG_LEVEL_WARN, "bawn-net takes no packet: %s", err.text);
	keeper_kill(&net->keeper);
}

void keeper_net_send(struct keeper_net *net, json_t *packet)
{
	send_packet(net, packet, -1);
}

static int config_file(const struct keeper_net *net, struct error *err)
{
	json_t *json = config(net);
	AUTO_FREE char *text = json_dumps(json, JSON_COMPACT);
	AUTO_CLOSE int fd = memfd_create("config", MFD_CLOEXEC);

	json_decref(json);
	if (!text || fd < 0 ||
	    fileio_write_all(fd, text, strlen(text), err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, errno, "config");
	return TAKE_FD(fd);
}

static void send_config(struct keeper_net *net)
{
	struct error err = { 0 };
	AUTO_CLOSE int fd = -1;

	/* A new process gets it as its start message. */
	if (net->keeper.life != KEEPER_SERVING)
		return;
	net->config_due = net->config_sent;
	if (net->config_sent)
		return;
	fd = config_file(net, &err);
	if (fd < 0) {
		log_error("%s", err.text);
		keeper_kill(&net->keeper);
		return;
	}
	net->config_sent = true;
	net->change_sent = changing(net);
	send_packet(net, json_pack("{s:s}", "op", "config"), fd);
}

static void send_listener(struct keeper_net *net,
			  const struct published_port *port)
{
	/* The rest gets them when the guest is there. */
	if (port->fd >= 0 && net->keeper.welcomed)
		send_packet(net,
			    json_pack("{s:s, s:I}", "op", "listener", "id",
				      (json_int_t)port->id),
			    port->fd);
}

static void use_next(struct keeper_net *net)
{
	published_release(&net->published);
	net->published = net->next;
	net->next = (struct published){ .last_id = net->published.last_id };
	net->has_next = false;
}

/* The new list takes the old one's place; bawn-net knows its numbers. */
static void take_published(struct keeper_net *net)
{
	for (size_t i = 0; i < net->next.count; i++) {
		const struct published_port *port = &net->next.items[i];

		if (!published_find(&net->published, port->id))
			send_listener(net, port);
	}
	for (size_t i = 0; i < net->published.count; i++) {
		uint32_t id = net->published.items[i].id;

		if (!published_find(&net->next, id))
			keeper_net_send(net, json_pack("{s:s, s:I}", "op",
						       "unlisten", "id",
						       (json_int_t)id));
	}
	published_stop(&net->published, &net->next);
	use_next(net);
}

static void on_settled(struct keeper *keeper)
{
	/* A fresh process gets them all when the guest is there. */
	if (of(keeper)->has_next && of(keeper)->change_sent)
		take_published(of(keeper));
}

static void on_refused(struct keeper *keeper)
{
	struct keeper_net *net = of(keeper);

	/* Numbers that were told once are not used again. */
	net->published.last_id = net->next.last_id;
	published_release(&net->next);
	net->has_next = false;
}

static void on_ready(struct keeper *keeper)
{
	struct keeper_net *net = of(keeper);

	if (net->has_next)
		use_next(net);
}

/*
 * Listeners only now: who connects before waits in the queue of the listener
 * for a guest that boots, or for a bawn-net that was replaced.
 */
static void on_welcomed(struct keeper_net *net)
{
	if (net->keeper.welcomed)
		return;
	keeper_welcomed(&net->keeper);
	for (size_t i = 0; i < net->published.count; i++)
		send_listener(net, &net->published.items[i]);
}

static void on_gone(struct keeper *keeper)
{
	struct keeper_net *net = of(keeper);

	net->config_sent = net->change_sent = net->config_due = false;
	named_sockets_forget(&net->sockets);
	questions_drop(&net->questions);
}

static void on_configured(struct keeper_net *net, const json_t *packet)
{
	const json_t *error = json_object_get(packet, "error");
	const char *text = json_string_value(error);
	char why[KEEPER_LINE_MAX];

	if (!net->config_sent)
		return;
	if (error) {
		text_printable(text ? text : "", text ? strlen(text) : 0, why,
			       sizeof(why));
		log_warn("bawn-net refuses new settings: %s", why);
	}
	if (net->change_sent && error)
		keeper_refuse(&net->keeper, why);
	else if (net->change_sent)
		keeper_settle(&net->keeper);
	net->config_sent = net->change_sent = false;
	if (net->config_due)
		send_config(net);
}

static void on_connected(void *ctx, uint32_t id, int fd, int code,
			 const char *why)
{
	json_t *packet =
		json_pack("{s:s, s:I}", "op", "socket", "id", (json_int_t)id);
	AUTO_CLOSE int owned = fd;

	if (fd < 0) {
		json_object_set_new(packet, "error", json_string(why));
		json_object_set_new(packet, "code", json_integer(code));
	}
	send_packet(ctx, packet, owned);
}

static void connect_agent(struct keeper_net *net, const json_t *agent,
			  uint32_t id)
{
	struct error err = { 0 };
	int fd = ssh_filters_connect(&net->ssh, agent, &err);

	if (fd < 0)
		log_limited(LOG_LEVEL_WARN, "%s", err.text);
	on_connected(net, id, fd, err.code, err.text);
}

static void on_socket(struct keeper_net *net, const json_t *packet)
{
	json_int_t id = json_integer_value(json_object_get(packet, "id"));
	const json_t *given = json_object_get(packet, "index"), *agent;
	json_int_t index =
		json_is_integer(given) ? json_integer_value(given) : -1;
	const char *path = net_settings_socket(in_force(net), index);

	if (!path || id < 0 || id > UINT32_MAX) {
		log_limited(LOG_LEVEL_WARN, "bawn-net: no such socket");
		return;
	}
	agent = net_settings_ssh_agent(in_force(net), index);
	if (agent)
		connect_agent(net, agent, (uint32_t)id);
	else
		named_sockets_connect(&net->sockets, path, (uint32_t)id);
}

static void on_layers(struct keeper_net *net)
{
	const char *folder = net_settings_layers(in_force(net));
	struct error err = { 0 };
	AUTO_CLOSE int fd =
		folder ? layer_caches_connect(&net->layers, folder, &err) : -1;

	if (folder && fd < 0)
		log_limited(LOG_LEVEL_WARN, "%s", err.text);
	send_packet(net, json_pack("{s:s}", "op", "layers"), fd);
}

static void on_rotate(struct keeper_net *net)
{
	struct error err = { 0 };
	AUTO_CLOSE int fd = net_files_log(net->files, &err);

	if (fd < 0)
		log_limited(LOG_LEVEL_ERROR, "%s", err.text);
	else
		send_packet(net, json_pack("{s:s}", "op", "log"), fd);
}

/* It cannot open a file any more. */
static void on_trust(struct keeper_net *net)
{
	AUTO_CLOSE int fd = host_trust_open();

	if (fd >= 0)
		send_packet(net, json_pack("{s:s}", "op", "trust"), fd);
}

/* It may lie, and it must not keep us busy. */
static void on_traffic(struct keeper_net *net)
{
	uint64_t now_ms = loop_now_ms();

	if (now_ms - net->traffic_ms < TRAFFIC_MS)
		return;
	net->traffic_ms = now_ms;
	net->on_traffic(net->keeper.ctx);
}

static void on_packet(struct keeper_net *net, const struct packet *packet)
{
	const char *op = packet_op(packet);

	if (strcmp(op, "ready") == 0)
		keeper_ready(&net->keeper);
	else if (strcmp(op, "welcomed") == 0)
		on_welcomed(net);
	else if (strcmp(op, "configured") == 0)
		on_configured(net, packet->json);
	else if (strcmp(op, "rotate") == 0)
		on_rotate(net);
	else if (strcmp(op, "trust") == 0)
		on_trust(net);
	else if (strcmp(op, "traffic") == 0)
		on_traffic(net);
	else if (strcmp(op, "socket") == 0)
		on_socket(net, packet->json);
	else if (strcmp(op, "layers") == 0)
		on_layers(net);
	else if (strcmp(op, "ask") == 0)
		questions_ask(&net->questions, packet->json,
			      net_settings_ask_ms(in_force(net)));
	else if (strcmp(op, "asked") == 0)
		questions_asked(&net->questions, packet->json);
	else
		log_limited(LOG_LEVEL_WARN, "bawn-net: unknown packet");
}

static bool read_control(struct keeper *keeper)
{
	struct error err = { 0 };
	struct packet packet;
	int got = packet_receive(keeper->control.fd, &packet, &err);

	if (got == 0)
		return false;
	if (got < 0) {
		/* Nothing more comes, or nothing that can be believed. */
		loop_del(&keeper->control);
		if (err.code != ECONNRESET) {
			log_limited(LOG_LEVEL_WARN, "bawn-net: %s", err.text);
			keeper_kill(keeper);
		}
		return false;
	}
	on_packet(of(keeper), &packet);
	packet_release(&packet);
	keeper->ops->on_change(keeper->ctx);
	return true;
}

static const struct keeper_row row = {
	.program = "bawn-net",
	.lost = "the sandbox has no network",
	.channel = SOCK_SEQPACKET,
	.message = message,
	.open_extra = open_extra,
	.read_control = read_control,
	.on_ready = on_ready,
	.on_gone = on_gone,
	.on_settled = on_settled,
	.on_refused = on_refused,
};

static void on_facts(void *ctx)
{
	struct keeper_net *net = ctx;

	log_info("the host's network has changed");
	send_config(net);
}

int keeper_net_init(struct keeper_net *net, struct loop *loop, int port,
		    int folder, const char *marker, struct error *err)
{
	net->files = net_files_folder(folder, err);
	if (net->files < 0)
		return -1;
	net->facts.on_change = on_facts;
	net->facts.ctx = net;
	net->sockets.loop = loop;
	net->sockets.on_done = on_connected;
	net->sockets.ctx = net;
	net->ssh.uid = net->uid;
	ssh_filters_init(&net->ssh, loop);
	layer_caches_init(&net->layers, loop);
	net->questions.folder = folder;
	net->questions.sandbox = net->sandbox;
	if (host_facts_open(&net->facts, loop, err) < 0 ||
	    questions_open(&net->questions, loop, err) < 0)
		return -1;
	return keeper_init(&net->keeper, &row, loop, port, folder, marker, err);
}

void keeper_net_serve(struct keeper_net *net, json_t *settings)
{
	struct published none = { .last_id = 0 };
	struct port_list ports;

	net_settings_ports(settings, &ports);
	(void)published_follow(&none, &ports, PUBLISHED_START, &net->published,
			       NULL);
	for (size_t i = 0; i < net->published.count; i++) {
		const struct published_port *port = &net->published.items[i];

		char text[PUBLISHED_WHY_MAX + 32];

		if (port->fd >= 0)
			continue;
		text_format(text, sizeof(text), "not published: %s", port->why);
		net->keeper.ops->on_lacks(net->keeper.ctx, text);
	}
	keeper_serve(&net->keeper, settings);
}

int keeper_net_change(struct keeper_net *net, json_t *settings,
		      struct error *err)
{
	struct port_list ports;

	/* Numbers that were told once are not used again. */
	if (net->next.last_id > net->published.last_id)
		net->published.last_id = net->next.last_id;
	published_release(&net->next);
	net->has_next = false;
	/* One that is under way is not this one. */
	net->change_sent = false;
	net_settings_ports(settings, &ports);
	if (published_follow(&net->published, &ports, PUBLISHED_CHANGE,
			     &net->next, err) < 0) {
		published_release(&net->next);
		json_decref(settings);
		return -1;
	}
	net->has_next = true;
	if (net->keeper.life != KEEPER_SERVING) {
		keeper_replace(&net->keeper, settings);
		return 0;
	}
	keeper_take(&net->keeper, settings);
	send_config(net);
	return 0;
}

bool keeper_net_settled(const struct keeper_net *net)
{
	return !changing(net) && net->keeper.life == KEEPER_SERVING;
}

void keeper_net_add_rule(struct keeper_net *net, const char *line)
{
	policy_append_settings(net->keeper.settings, line);
	send_config(net);
}

void keeper_net_release(struct keeper_net *net)
{
	named_sockets_forget(&net->sockets);
	ssh_filters_release(&net->ssh);
	layer_caches_release(&net->layers);
	questions_close(&net->questions);
	host_facts_release(&net->facts);
	keeper_release(&net->keeper);
	published_release(&net->published);
	published_release(&net->next);
	close(net->files);
}
