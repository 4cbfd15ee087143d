/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - secrets as bawn-keys tells them
 *
 * One packet is the whole list (bindings.h), in a file of its own:
 *   {"op": "secrets"} with a descriptor  ->  {"op": "taken"} or
 *   {"op": "taken", "error": TEXT}
 * The list holds until the next one comes, also when bawn-keys dies: the
 * launcher starts it again, and the socket stays. A secret that is gone ends
 * the requests that it went along with. Tokens of a login go the other way:
 *   {"op": "tokens", "service", "expires", "renewed", "scope"} with a file:
 *   [{"field", "placeholder", "value"}]  ->  the next list, with them
 * Whoever is about to renew a login asks first, so that no two do it at once,
 * in whichever sandbox (renew.h):
 *   {"op": "renew", "service"}  ->  {"op": "renew", "service"}, after a list
 *   when there is news
 *   {"op": "renewal", "service", "refused"}: it is over, without tokens
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct error;
struct gate;

struct keys {
	struct gate *gate;
	struct source source;
	struct timer recheck; /* after a list that was waited for */
};

/* fd is borrowed; -1: there are no secrets. */
int keys_init(struct keys *keys, struct gate *gate, int fd, struct error *err);
/*
 * Before anything is served: waits for the first list, but not for ever, so
 * that a guest's first request finds its secret.
 */
void keys_wait(struct keys *keys);
/*
 * Hands the tokens of a login over and waits, not for long, until they are in
 * force: the guest uses its placeholders as soon as it has them. -1.
 */
struct keys_tokens {
	const char *service;
	const json_t *list;
	int64_t expires;   /* 0: not known */
	bool renewed;      /* with the refresh token that was there */
	const char *scope; /* "": as it was, if it was renewed */
};
int keys_keep_tokens(struct keys *keys, const struct keys_tokens *tokens);
/* -1: bawn-keys is not there. */
int keys_ask_renewal(struct keys *keys, const char *service);
void keys_end_renewal(struct keys *keys, const char *service, bool refused);
void keys_release(struct keys *keys);
