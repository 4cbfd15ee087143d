/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadline.c - many waits of the same length, at the cost of one timer
 *
 * The timer is set for the first that waits and never moved when that one
 * goes: it fires too early then, finds nobody due, and is set again.
 */
#include "net/deadline.h"

#define FIRST_OF(queue) LIST_ENTRY((queue)->waiting.next, struct deadline, link)

static void set_timer(struct deadlines *queue)
{
	uint64_t now_ms = loop_now_ms(), due_ms;

	if (list_empty(&queue->waiting))
		return;
	due_ms = FIRST_OF(queue)->due_ms;
	timer_start(queue->loop, &queue->timer,
		    due_ms > now_ms ? due_ms - now_ms : 0);
}

static void on_fire(struct timer *timer)
{
	struct deadlines *queue = CONTAINER_OF(timer, struct deadlines, timer);
	uint64_t now_ms = loop_now_ms();

	while (!list_empty(&queue->waiting) &&
	       FIRST_OF(queue)->due_ms <= now_ms) {
		struct deadline *deadline = FIRST_OF(queue);

		list_remove(&deadline->link);
		deadline->on_due(deadline);
	}
	set_timer(queue);
}

void deadlines_init(struct deadlines *queue, struct loop *loop,
		    const char *name, uint64_t delay_ms)
{
	*queue = (struct deadlines){
		.loop = loop,
		.delay_ms = delay_ms,
		.timer = { .name = name, .on_fire = on_fire },
	};
	list_init(&queue->waiting);
}

void deadlines_release(struct deadlines *queue)
{
	timer_stop(&queue->timer);
	LIST_FOR_EACH(node, &queue->waiting)
		list_remove(node);
}

void deadline_init(struct deadline *deadline, deadline_fn *on_due)
{
	*deadline = (struct deadline){ .on_due = on_due };
	list_init(&deadline->link);
}

void deadline_start(struct deadlines *queue, struct deadline *deadline)
{
	list_remove(&deadline->link);
	deadline->due_ms = loop_now_ms() + queue->delay_ms;
	list_append(&queue->waiting, &deadline->link);
	if (!queue->timer.loop)
		set_timer(queue);
}

void deadline_stop(struct deadline *deadline)
{
	list_remove(&deadline->link);
}
