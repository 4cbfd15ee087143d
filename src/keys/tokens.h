/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens.h - the tokens of logins: who may renew them, and where they are kept
 *
 * A login belongs to one sandbox, or to all of them. Of one that is for all,
 * the right to renew it is a lock in the store, which ends with its holder.
 */
#pragma once

#include <jansson.h>

#include "base/loop.h"

struct error;
struct packet;
struct server;

#define TOKENS_LEASES_MAX 8

struct tokens_lease {
	char *service; /* owned; NULL: none */
	int lock;      /* owned; -1: another sandbox has it */
};

struct tokens {
	struct server *server;
	struct tokens_lease leases[TOKENS_LEASES_MAX];
	struct timer again; /* for those that another one has */
};

void tokens_init(struct tokens *tokens, struct server *server);
void tokens_release(struct tokens *tokens);

/* New tokens, from bawn-net; what renews them ends with it. */
int tokens_keep(struct tokens *tokens, struct packet *packet,
		struct error *err);
/* bawn-net wants to renew a login: it is told when it may. */
void tokens_lend(struct tokens *tokens, const char *service);
/* It is over. 1: that changed something in the store. */
int tokens_end(struct tokens *tokens, const char *service, bool refused);
/* bawn-net has gone. */
void tokens_forget(struct tokens *tokens);
