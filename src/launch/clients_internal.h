/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients_internal.h - between clients.c, clients_keys.c and clients_net.c
 */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "launch/asks.h"
#include "launch/clients.h"

#define CLIENT_ANSWER_MS 10000

enum waits_for {
	WAITS_FOR_REQUEST,
	WAITS_FOR_SHARES,
	WAITS_FOR_MARK,
	WAITS_FOR_NET,   /* new settings */
	WAITS_FOR_PORTS, /* the same, and the list of ports is the answer */
	WAITS_FOR_RULE,
	WAITS_FOR_KEYS,
	WAITS_FOR_ASKS, /* until it goes */
};

struct client {
	struct clients *clients; /* borrowed */
	struct source source;    /* owns its descriptor */
	struct buffer in;
	struct timer timeout;
	enum waits_for waits_for;
	char rule[ASK_RULE_SIZE]; /* of WAITS_FOR_RULE */
	json_t *bound;            /* owned; of WAITS_FOR_KEYS */
};

/* Takes the reference; the client is gone afterwards. */
void client_answer(struct client *client, json_t *json);
void client_refuse(struct client *client, int code, const char *text);
/* From now on it waits for that, with a time limit. */
void client_wait(struct client *client, enum waits_for what);
/* One line of several; takes the reference. A slow reader is dropped. */
void client_send(struct client *client, json_t *json);
/* Somebody waits for that already. */
bool clients_busy(const struct clients *clients, enum waits_for what);

/* Requests about the network. */
void client_net(struct client *client, json_t *json);
void client_ports(struct client *client, json_t *json);
void client_asks(struct client *client, json_t *json);
void client_ask_answer(struct client *client, json_t *json);
void client_watch_asks(struct client *client, json_t *json);
/* Requests about secrets. */
void client_keys(struct client *client, json_t *json);
void client_keys_changed(struct client *client);
/* Something has changed for one that waits for new settings. */
void client_net_changed(struct client *client);
