/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - the talk with the supervisor, once the machine is up
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"
#include "guest/cgroups.h"
#include "guest/engine.h"
#include "guest/files.h"
#include "guest/host_keys.h"
#include "guest/identity.h"
#include "guest/net.h"
#include "guest/port.h"
#include "guest/session.h"
#include "proto/mux.h"

enum guest_ending {                  /* what the timer `stop` waits for */
		    GUEST_ASKED,     /* processes, which were asked to end */
		    GUEST_KILLED,    /* processes, which were killed */
		    GUEST_FINISHING, /* the relay, which writes out */
};

enum guest_state {
	GUEST_WAITING,   /* booted or restored: only WAKE is understood */
	GUEST_RUNNING,   /* sessions */
	GUEST_PREPARING, /* sessions stand, their output leaves */
	GUEST_PREPARED,  /* PREPARED is queued as the last frame */
	GUEST_ASLEEP,    /* a marker begins a new epoch, WAKE goes on */
	GUEST_STOPPING,  /* processes were asked to end; timer runs */

	GUEST_STATES,
};

struct guest {
	enum guest_state state;
	struct loop *loop; /* owned */
	struct mux mux;
	struct port port;
	struct cgroups cgroups;
	struct identity identity;
	struct host_keys host_keys;
	struct sessions sessions;
	struct files files;
	struct net net;
	struct engine engine;
	struct timer stop;
	enum guest_ending ending;
	struct timer folders; /* AWAKE waits for shared folders */
	uint8_t marker[MUX_MARKER_BYTES];
	const uint8_t *payload; /* of the message that is being handled */
	size_t payload_len;
	/* Owned; what the last WAKE said and is installed; NULL: nothing yet.
	 */
	char *authority, *git;
	bool prime; /* run the template's shell once before HELLO */
};

/* cgroups, identity and prime are set. Takes port_fd. Returns only on failure.
 */
int guest_run(struct guest *guest, int port_fd, struct error *err);
