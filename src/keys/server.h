/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - what bawn-keys holds, and how it tells bawn-net
 *
 * The secrets of one sandbox: from the store's files (secret_store.h), from the
 * user's commands, and for a session from the launcher. bawn-net gets the whole
 * list, again whenever something changes. Whether it was taken comes back, and
 * tokens that a token endpoint gave to a login in the guest: they are kept with
 * the sandbox's own secrets, or with those of all (tokens.h). No byte of a
 * guest gets here.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/loop.h"
#include "keys/commands.h"
#include "keys/tokens.h"

struct error;
struct packet;

/* What the launcher says at the start. */
struct server_config {
	char *store, *scope, *services, *services_d, *agent; /* owned */
};

struct server {
	struct loop *loop;
	struct server_config config;
	int store;        /* owned: the folder */
	json_t *session;  /* owned: [{"name", "value"}] */
	json_t *bindings; /* owned: as secret_bindings.h makes them */
	json_t *logins;   /* owned: as logins.h makes them */
	struct commands commands;
	struct tokens tokens;
	struct source launcher; /* its packets */
	struct source net;     /* of the bawn-net that lives now; fd -1: none */
	struct source changes; /* of the store's files; fd -1: not seen */
	struct timer patience; /* for commands */
	bool begun;    /* the first list was sent, or is no longer waited for */
	bool due;      /* the launcher waits for `settled` */
	bool told;     /* bawn-net has not said `taken` */
	char why[256]; /* the last load or list failed; or "" */
	const char *end; /* NULL, or why it ends with an error */
};

int server_init(struct server *server, struct loop *loop, int control,
		int runner, struct error *err);
/* Reads the start message (fd is closed); opens the store. */
int server_read_config(struct server *server, int fd, struct error *err);
/* Isolation is done: reads what is there, and serves. */
int server_start(struct server *server, struct error *err);
void server_release(struct server *server);

/* For tokens.h. The list in a packet's file, the caller's; NULL: none. */
json_t *server_read_list(struct packet *packet);
/* Reads the stores again, and tells bawn-net what is new in them. */
void server_refresh(struct server *server);
