/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - requests of the CLI on launch.sock (PROTOCOL.md §5)
 *
 * One request for each connection, one answer; `watch-asks` alone has more.
 * Only the owner and root may ask. Nothing of a guest comes this way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct ask;
struct error;
struct keeper_files;
struct keeper_keys;
struct keeper_net;

#define CLIENTS_MAX 64

struct client;

struct clients {
	struct loop *loop;          /* borrowed */
	struct keeper_files *files; /* borrowed */
	struct keeper_net *net;     /* borrowed */
	struct keeper_keys *keys;   /* borrowed */
	struct source listener;
	struct client *list[CLIENTS_MAX];
};

/* fd listens, is non-blocking and owned from now on. */
int clients_open(struct clients *clients, int fd, struct error *err);
/* Answers whoever waits for what has come to be. */
void clients_keeper_changed(struct clients *clients);
void clients_marked(struct clients *clients, const char *why);
void clients_rule_written(struct clients *clients, const char *line,
			  const char *why);
void clients_asked(struct clients *clients, const struct ask *ask);
void clients_ask_over(struct clients *clients, uint32_t id);
void clients_close(struct clients *clients);
