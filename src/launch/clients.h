/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - requests of the CLI on launch.sock (PROTOCOL.md §5)
 *
 * One request for each connection, one answer. Only the owner and root may
 * ask. Nothing of a guest comes this way.
 */
#pragma once

#include <stdbool.h>

#include "base/loop.h"

struct error;
struct keeper_files;

#define CLIENTS_MAX 8

struct client;

struct clients {
	struct loop *loop;          /* borrowed */
	struct keeper_files *files; /* borrowed */
	struct source listener;
	struct client *list[CLIENTS_MAX];
};

/* fd listens, is non-blocking and owned from now on. */
int clients_open(struct clients *clients, struct loop *loop, int fd,
		 struct keeper_files *files, struct error *err);
/* Answers whoever waits for what has come to be. */
void clients_keeper_changed(struct clients *clients);
void clients_marked(struct clients *clients, const char *why);
void clients_close(struct clients *clients);
