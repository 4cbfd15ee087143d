/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew_talk.h - the host asks a token endpoint for new tokens
 *
 * One request on a connection of its own, to the address that the service's
 * data names, in TLS with a server that proved its name to the host's trust,
 * through the host's proxy if there is one. Nothing of it comes from a guest.
 */
#pragma once

#include "wire/address.h"
#include "wire/token_body.h"

struct decision;
struct gate;
struct login;
struct renew_talk;
struct target;

struct renew_answer {
	unsigned status; /* 0: there is none */
	enum token_body_kind kind;
	struct span body; /* borrowed, and to be written in no more */
	struct address address;
	const char *problem; /* static; NULL: the answer is whole */
};

typedef void renew_talk_fn(void *ctx, const struct renew_answer *answer);

/*
 * fn is called once, never before this returns, and not after
 * renew_talk_cancel(); it cancels. NULL when too many connections are being
 * made. login: not needed afterwards; target and decision are.
 */
struct renew_talk *renew_talk_start(struct gate *gate,
				    const struct login *login,
				    const struct target *target,
				    const struct decision *decision,
				    renew_talk_fn *fn, void *ctx);
/* Wipes all of it; may be NULL. */
void renew_talk_cancel(struct renew_talk *talk);
