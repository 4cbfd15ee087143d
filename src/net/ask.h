/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - connections that wait until a person has said yes or no
 *
 * One question for each name and port, however many connections wait for its
 * answer. No answer in time is no.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "net/audit.h"

struct ask_waiter;
struct gate;
struct target;

enum ask_answer {
	ASK_ALLOW,
	ASK_DENY,
	ASK_TIMEOUT,
};

typedef void ask_fn(struct ask_waiter *waiter, enum ask_answer answer);

struct ask_waiter {
	ask_fn *on_answer;
	struct list link; /* private: empty when it does not wait */
	struct ask *ask;  /* private */
};

struct asks {
	struct gate *gate;
	struct list list;
	unsigned count;
	uint32_t last_id;
};

void asks_init(struct asks *asks, struct gate *gate);
void asks_release(struct asks *asks);
void ask_waiter_init(struct ask_waiter *waiter, ask_fn *on_answer);
/* -1: nobody is asked (too many questions, or it is off): that is a no. */
int ask_join(struct asks *asks, const struct target *target,
	     enum audit_protocol protocol, struct ask_waiter *waiter);
/* Harmless when it does not wait. The last one to go ends the question. */
void ask_leave(struct ask_waiter *waiter);
/* The person's answer to a question; an unknown id is ignored. */
void asks_answer(struct asks *asks, uint32_t id, enum ask_answer answer);
