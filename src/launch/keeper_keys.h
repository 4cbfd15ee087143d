/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_keys.h - the row of bawn-keys
 *
 * Started for a sandbox that has secrets, or when it gets the first. What it
 * says to bawn-net goes over a socket that this launcher makes for each
 * bawn-net and keeps a copy of, so that either may die and come back. Keys of a
 * session are kept here, in memory, for a bawn-keys that has to start again.
 */
#pragma once

#include "launch/keeper.h"

struct keeper_keys {
	struct keeper keeper;
	bool *expected; /* borrowed: bawn-net is to wait for a list */

	/* private */
	json_t *wanted;  /* owned: settings, whether it runs or not */
	json_t *session; /* owned: [{"name", "value"}] */
	int runner;      /* owned: of commands; -1: none */
	int net;         /* owned: its end towards bawn-net; -1: none yet */
	bool reloading;  /* `settled` has not come */
	char why[KEEPER_LINE_MAX]; /* what `settled` complained of, or "" */
};

/* Before any isolation. Takes the reference of settings ("keys" of the
 * network's; null: there is no store). */
int keeper_keys_init(struct keeper_keys *keys, struct loop *loop, int folder,
		     json_t *settings, struct error *err);
/* When there is something to keep. */
void keeper_keys_serve(struct keeper_keys *keys);
/* A bawn-net is about to start; takes fd, the other end of its socket. */
void keeper_keys_use_net(struct keeper_keys *keys, int fd);
/*
 * Reads the store again. session: more keys of a session, borrowed, or NULL.
 * Those of them that are new are added to bound, a list of names.
 */
int keeper_keys_reload(struct keeper_keys *keys, const json_t *session,
		       json_t *bound, struct error *err);
/* Nothing is under way. */
bool keeper_keys_settled(const struct keeper_keys *keys);
void keeper_keys_release(struct keeper_keys *keys);
