/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c - bawn-layers, as far as bawn-net knows it
 */
#include "net/layers.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/packet.h"
#include "net/control.h"
#include "net/gate.h"
#include "net/target.h"

#define PACKETS_PER_EVENT 16
/* A disk that kills it will do so again. */
#define DEATHS_MAX 3

static void on_event(struct source *source, uint32_t events);

void layers_init(struct layers *layers, struct gate *gate)
{
	*layers = (struct layers){ .gate = gate };
	layers->source = (struct source){ .name = "bawn-layers",
					  .fd = -1,
					  .events = EPOLLIN,
					  .on_event = on_event };
	list_init(&layers->asks);
}

static void finish(struct layer_ask *ask, enum layer_answer answer, int fd,
		   uint64_t size)
{
	layer_ask_cancel(ask);
	ask->fn(ask, answer, fd, size);
}

static void on_late(struct deadline *deadline)
{
	finish(CONTAINER_OF(deadline, struct layer_ask, deadline), LAYER_NONE,
	       -1, 0);
}

void layer_ask_init(struct layer_ask *ask, layer_fn *fn)
{
	*ask = (struct layer_ask){ .fn = fn };
	list_init(&ask->link);
	deadline_init(&ask->deadline, on_late);
}

void layer_ask_cancel(struct layer_ask *ask)
{
	list_remove(&ask->link);
	deadline_stop(&ask->deadline);
}

static int tell(struct layers *layers, struct layer_ask *ask)
{
	struct error err = { 0 };

	ask->id = ++layers->last_id;
	return packet_send(layers->source.fd,
			   json_pack("{s:s, s:I, s:s, s:s}", "op", "get", "id",
				     (json_int_t)ask->id, "registry",
				     ask->registry, "digest", ask->hex),
			   NULL, 0, &err);
}

int layers_ask(struct layers *layers, struct layer_ask *ask)
{
	if (layers->state == LAYERS_UNASKED &&
	    control_say_layers(&layers->gate->control) == 0)
		layers->state = LAYERS_ASKED;
	if (layers->state != LAYERS_ASKED && layers->state != LAYERS_THERE)
		return -1;
	if (layers->state == LAYERS_THERE && tell(layers, ask) < 0)
		return -1;
	ask->layers = layers;
	list_append(&layers->asks, &ask->link);
	deadline_start(&layers->gate->layer, &ask->deadline);
	return 0;
}

static void answer_all(struct layers *layers)
{
	while (!list_empty(&layers->asks))
		finish(LIST_ENTRY(layers->asks.next, struct layer_ask, link),
		       LAYER_NONE, -1, 0);
}

static void close_source(struct layers *layers)
{
	loop_del(&layers->source);
	if (layers->source.fd >= 0)
		close(layers->source.fd);
	layers->source.fd = -1;
}

static void gone(struct layers *layers)
{
	log_warn("bawn-layers has gone");
	close_source(layers);
	layers->state =
		++layers->deaths < DEATHS_MAX ? LAYERS_UNASKED : LAYERS_OFF;
	answer_all(layers);
}

void layers_use(struct layers *layers, int fd)
{
	struct error err = { 0 };

	close_source(layers);
	layers->source.fd = fd;
	if (fd < 0 || loop_add(layers->gate->loop, &layers->source, &err) < 0) {
		layers->state = LAYERS_OFF;
		answer_all(layers);
		return;
	}
	layers->state = LAYERS_THERE;
	LIST_FOR_EACH(node, &layers->asks) {
		if (tell(layers, LIST_ENTRY(node, struct layer_ask, link)) < 0)
			break; /* it answers late, that is: not */
	}
}

static struct layer_ask *find(struct layers *layers, json_int_t id)
{
	LIST_FOR_EACH(node, &layers->asks) {
		struct layer_ask *ask =
			LIST_ENTRY(node, struct layer_ask, link);

		if (ask->id && ask->id == id)
			return ask;
	}
	return NULL;
}

static void handle(struct layers *layers, struct packet *packet)
{
	AUTO_CLOSE int fd = packet_take_fd(packet, 0);
	json_int_t id = json_integer_value(json_object_get(packet->json, "id"));
	json_int_t size =
		json_integer_value(json_object_get(packet->json, "size"));
	struct layer_ask *ask = find(layers, id);
	enum layer_answer answer = LAYER_NONE;

	if (!ask)
		return;
	if (fd >= 0 && size >= 0 && strcmp(packet_op(packet), "have") == 0)
		answer = LAYER_HAVE;
	else if (fd >= 0 && strcmp(packet_op(packet), "want") == 0)
		answer = LAYER_WANT;
	finish(ask, answer, answer == LAYER_NONE ? -1 : TAKE_FD(fd),
	       (uint64_t)size);
}

static void on_event(struct source *source, uint32_t events)
{
	struct layers *layers = CONTAINER_OF(source, struct layers, source);

	for (int i = 0; i < PACKETS_PER_EVENT && source->fd >= 0; i++) {
		struct error err = { 0 };
		struct packet packet;
		int got = packet_receive(source->fd, &packet, &err);

		if (got == 0)
			return;
		if (got < 0) {
			gone(layers);
			return;
		}
		handle(layers, &packet);
		packet_release(&packet);
	}
}

void layers_release(struct layers *layers)
{
	close_source(layers);
	for (size_t i = 0; i < LAYERS_TIES; i++)
		free(layers->ties[i].target);
}

void layers_tie(struct layers *layers, const struct layer_ask *ask,
		const struct blob_redirect *redirect)
{
	struct layers_tie *tie = &layers->ties[layers->next_tie];

	if (redirect->target.len > LAYERS_TIE_TARGET_MAX)
		return;
	layers->next_tie = (layers->next_tie + 1) % LAYERS_TIES;
	free(tie->target);
	tie->target = xstrndup(redirect->target.bytes, redirect->target.len);
	text_copy(tie->host, sizeof(tie->host), redirect->host.host);
	tie->port = redirect->host.port;
	text_copy(tie->registry, sizeof(tie->registry), ask->registry);
	text_copy(tie->hex, sizeof(tie->hex), ask->hex);
}

static bool is_target(const char *target, const char *path, const char *query)
{
	return text_starts(target, path) &&
	       strcmp(target + strlen(path), query ? query : "") == 0;
}

const struct layers_tie *layers_tied(const struct layers *layers,
				     const struct target *target,
				     const char *path, const char *query)
{
	for (size_t i = 0; target->name && i < LAYERS_TIES; i++) {
		const struct layers_tie *tie = &layers->ties[i];

		if (tie->target && tie->port == target->port &&
		    strcmp(tie->host, target->name) == 0 &&
		    is_target(tie->target, path, query))
			return tie;
	}
	return NULL;
}
