/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - connections that wait until a person has said yes or no
 */
#include "net/ask.h"

#include <stdlib.h>

#include "base/mem.h"
#include "net/config.h"
#include "net/control.h"
#include "net/gate.h"
#include "net/limit.h"
#include "net/target.h"

struct ask {
	struct asks *asks;
	struct list link;
	uint32_t id;
	struct target target;
	struct list waiters;
	struct timer timer;
};

void asks_init(struct asks *asks, struct gate *gate)
{
	*asks = (struct asks){ .gate = gate };
	list_init(&asks->list);
}

static void ask_free(struct ask *ask)
{
	timer_stop(&ask->timer);
	list_remove(&ask->link);
	ask->asks->count--;
	target_release(&ask->target);
	free(ask);
}

void asks_release(struct asks *asks)
{
	LIST_FOR_EACH(node, &asks->list)
		ask_free(LIST_ENTRY(node, struct ask, link));
}

void ask_waiter_init(struct ask_waiter *waiter, ask_fn *on_answer)
{
	*waiter = (struct ask_waiter){ .on_answer = on_answer };
	list_init(&waiter->link);
}

/* Each waiter may close others: so one after the other, from the front. */
static void tell(struct ask *ask, enum ask_answer answer)
{
	list_remove(&ask->link);
	timer_stop(&ask->timer);
	while (!list_empty(&ask->waiters)) {
		struct ask_waiter *waiter =
			LIST_ENTRY(ask->waiters.next, struct ask_waiter, link);

		list_remove(&waiter->link);
		waiter->ask = NULL;
		waiter->on_answer(waiter, answer);
	}
	ask_free(ask);
}

static void on_timeout(struct timer *timer)
{
	struct ask *ask = CONTAINER_OF(timer, struct ask, timer);

	control_say_asked(&ask->asks->gate->control, ask->id);
	tell(ask, ASK_TIMEOUT);
}

static struct ask *find(struct asks *asks, const struct target *target)
{
	LIST_FOR_EACH(node, &asks->list) {
		struct ask *ask = LIST_ENTRY(node, struct ask, link);

		if (target_same(&ask->target, target))
			return ask;
	}
	return NULL;
}

static struct ask *begin(struct asks *asks, const struct target *target,
			 enum audit_protocol protocol)
{
	uint32_t ask_ms = asks->gate->config->ask_ms;
	struct ask *ask;

	if (!ask_ms || asks->count >= LIMIT_ASKS)
		return NULL;
	ask = xcalloc(1, sizeof(*ask));
	ask->asks = asks;
	ask->id = ++asks->last_id;
	list_init(&ask->waiters);
	target_copy(target, &ask->target);
	if (control_say_ask(&asks->gate->control, ask->id, target, protocol) <
	    0) {
		target_release(&ask->target);
		free(ask);
		return NULL;
	}
	ask->timer = (struct timer){ .name = "ask", .on_fire = on_timeout };
	timer_start(asks->gate->loop, &ask->timer, ask_ms);
	list_append(&asks->list, &ask->link);
	asks->count++;
	return ask;
}

int ask_join(struct asks *asks, const struct target *target,
	     enum audit_protocol protocol, struct ask_waiter *waiter)
{
	struct ask *ask = find(asks, target);

	if (!ask)
		ask = begin(asks, target, protocol);
	if (!ask)
		return -1;
	waiter->ask = ask;
	list_append(&ask->waiters, &waiter->link);
	return 0;
}

void ask_leave(struct ask_waiter *waiter)
{
	struct ask *ask = waiter->ask;

	if (!ask)
		return;
	list_remove(&waiter->link);
	waiter->ask = NULL;
	if (!list_empty(&ask->waiters) || list_empty(&ask->link))
		return;
	control_say_asked(&ask->asks->gate->control, ask->id);
	ask_free(ask);
}

void asks_answer(struct asks *asks, uint32_t id, enum ask_answer answer)
{
	LIST_FOR_EACH(node, &asks->list) {
		struct ask *ask = LIST_ENTRY(node, struct ask, link);

		if (ask->id != id)
			continue;
		tell(ask, answer);
		return;
	}
}
