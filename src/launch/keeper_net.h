/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_net.h - the row of bawn-net
 *
 * Its settings are the command line's (net_settings.h); what it is told is made
 * of them, of the host's facts and of the listeners. New settings go to the
 * running process as a packet; what it refuses is taken back. Whatever it needs
 * from the host it asks for: listeners, files, connections to named sockets,
 * answers of the user.
 */
#pragma once

#include "launch/host_facts.h"
#include "launch/keeper.h"
#include "launch/layer_cache.h"
#include "launch/named_sockets.h"
#include "launch/published.h"
#include "launch/questions.h"
#include "launch/ssh_filters.h"

struct keeper_net {
	struct keeper keeper;
	struct published published;
	struct questions questions;
	const char *sandbox; /* borrowed: its name */
	bool has_keys;       /* a list of secrets comes first */
	/* Takes the other end of a new process's socket for secrets. */
	void (*on_keys)(void *ctx, int fd);
	/* A published port was used. */
	void (*on_traffic)(void *ctx);
	uid_t uid; /* that it takes when we are root; 0: none */
	int slots; /* borrowed: memory that the guest reads */

	/* private */
	int files; /* owned: the folder net/ */
	struct host_facts facts;
	struct named_sockets sockets;
	struct ssh_filters ssh;
	struct layer_caches layers;
	struct published next; /* while settings are being changed */
	bool has_next;
	bool config_sent;    /* no `configured` has come yet */
	bool change_sent;    /* and it is about new settings */
	bool config_due;     /* another one is to be sent after that */
	uint64_t traffic_ms; /* when on_traffic was last called */
};

/*
 * Before any isolation. questions.hook was started; questions.ops and the
 * keeper's ops are set by the caller.
 */
int keeper_net_init(struct keeper_net *net, struct loop *loop, int port,
		    int folder, const char *marker, struct error *err);
/* Takes the reference of settings that were checked; binds what it can. */
void keeper_net_serve(struct keeper_net *net, json_t *settings);
/*
 * The same for new ones. Afterwards keeper.refused says whether they were taken
 * back, as soon as keeper_net_settled().
 */
int keeper_net_change(struct keeper_net *net, json_t *settings,
		      struct error *err);
/* Nothing is under way. */
bool keeper_net_settled(const struct keeper_net *net);
/* A rule that is in the policy file already, for the running process too. */
void keeper_net_add_rule(struct keeper_net *net, const char *line);
void keeper_net_send(struct keeper_net *net, json_t *packet);
void keeper_net_release(struct keeper_net *net);
