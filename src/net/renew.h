/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew.h - the host renews logins by itself
 *
 * A login's access token that has ended, or is about to, is exchanged before it
 * goes into a request: the request waits, for a while. Refresh tokens are good
 * for one time, so that of one login there is never more than one renewal,
 * whoever makes it: this gate, the guest with a request of its own, or another
 * sandbox with the same login. bawn-keys says who is next (keys.h). When it
 * fails, requests go out with what there is.
 */
#pragma once

#include <stdbool.h>

#include "base/list.h"

struct binding;
struct gate;
struct login;
struct policy_request;
struct renewal;
struct renew_waiter;

typedef void renew_fn(struct renew_waiter *waiter);

struct renewals {
	struct gate *gate;
	struct list list; /* struct renewal, owned: one for each login */
};

/* A request that waits, or that may renew a login now. */
struct renew_waiter {
	renew_fn *on_ready; /* it may go on */
	struct list link;   /* private, like all below */
	struct renewal *renewal;
	bool renews; /* it is the guest's own */
};

void renew_init(struct renewals *renewals, struct gate *gate);
void renew_release(struct renewals *renewals);

/* The login of that name as it is now; NULL: there is none. */
const struct login *renew_login(const struct gate *gate, const char *name);

/* Is there a login that could be renewed at all? Asked for each request. */
bool renew_concerns(const struct gate *gate);

void renew_waiter_init(struct renew_waiter *waiter, renew_fn *on_ready);
/*
 * A request that is allowed is about to be sent. True: not yet; on_ready is
 * called, later. What may renew a login must leave when it is over.
 */
bool renew_join(struct renewals *renewals, const struct policy_request *request,
		struct renew_waiter *waiter);
/* Harmless when it did not join. */
void renew_leave(struct renew_waiter *waiter);
/* A server refused what was put in for this one, perhaps of an older list. */
void renew_rejected(struct renewals *renewals, const struct binding *binding);
/* bawn-keys: it is our turn. */
void renew_granted(struct renewals *renewals, const char *name);
