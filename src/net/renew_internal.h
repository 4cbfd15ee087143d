/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew_internal.h - what the parts of a renewal share
 *
 * renew.c       who renews a login, and who waits for it
 * renew_host.c  the host's own renewal, and what becomes of it
 */
#pragma once

#include "base/loop.h"
#include "net/decision.h"
#include "net/renew.h"
#include "net/target.h"

struct login;
struct renew_answer;
struct renew_talk;
struct secret;

enum renewal_state {
	RENEWAL_NONE,
	RENEWAL_ASKED,  /* bawn-keys; times out */
	RENEWAL_OURS,   /* it said yes; something is begun at once */
	RENEWAL_GUESTS, /* a request of the guest's is under way; times out */
	RENEWAL_TALKS,  /* the host asks the token endpoint; times out */
};

struct renewal {
	struct renewals *all;
	struct list link;
	char *name; /* owned: of the login */
	enum renewal_state state;
	bool host;               /* the host wants to */
	struct secret *stale;    /* owned: it wants another one than this */
	struct list waiting;     /* requests that would put the token in */
	struct list ready;       /* those that may go on */
	struct list renewing;    /* the guest's own, the first one is next */
	struct timer patience;   /* of all but NONE */
	struct timer wake;       /* nobody goes on inside another's call */
	struct renew_talk *talk; /* owned */
	struct target target;
	struct decision decision;
	uint64_t started_ms;
	uint64_t tried_ms;   /* the host, last; 0: never */
	unsigned failures;   /* of it, one after the other */
	struct secret *left; /* owned: the token that was there then */
};

/* It is over: who waited goes on, and the next may. */
void renew_finish(struct renewal *self);
/* The same, without tokens; bawn-keys lets another one. */
void renew_give_up(struct renewal *self, bool refused);

/* Asks the token endpoint, if the rules of the sandbox allow it. */
void renew_ask(struct renewal *self, const struct login *login);
void renew_fail(struct renewal *self, const struct renew_answer *answer,
		bool refused);
