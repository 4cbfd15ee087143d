/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c - a sandbox without work gives its memory back
 */
#include "supervisor/idle.h"

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "supervisor/sandbox.h"

enum {
	LOOK_MS = 15000,
	REST_PERMILLE = 10, /* of one CPU; one answer of a server is more */
};

bool idle_is_rest(uint64_t busy_ms, uint64_t passed_ms)
{
	return busy_ms * 1000 <= passed_ms * REST_PERMILLE;
}

static uint64_t look_ms(const struct sandbox *sandbox)
{
	uint64_t part = (uint64_t)sandbox->spec->idle_s * 1000 / 4;

	return part < LOOK_MS ? part + 1 : LOOK_MS;
}

static bool somebody_looks(const struct sandbox *sandbox)
{
	if (sandbox->clients.count)
		return true;
	LIST_FOR_EACH(node, &sandbox->sessions.all) {
		if (LIST_ENTRY(node, struct session, link)->client_count)
			return true;
	}
	return false;
}

static void on_timer(struct timer *timer)
{
	struct sandbox *sandbox =
		CONTAINER_OF(timer, struct sandbox, idle.timer);
	struct message message = { .type = MESSAGE_STATS };
	struct idle *idle = &sandbox->idle;

	timer_start(sandbox->loop, timer, look_ms(sandbox));
	if (sandbox->life != SANDBOX_RUNNING || saving_is_busy(sandbox) ||
	    somebody_looks(sandbox)) {
		idle->since_ms = idle->looked_ms = 0;
		return;
	}
	if (guest_link_send(&sandbox->guest, &message, NULL) == 0)
		idle->asked = true;
}

void idle_start(struct sandbox *sandbox)
{
	sandbox->idle = (struct idle){
		.timer = { .name = "idle", .on_fire = on_timer },
	};
	if (sandbox->spec->idle_s && !sandbox->spec->remove_at_end)
		timer_start(sandbox->loop, &sandbox->idle.timer,
			    look_ms(sandbox));
}

void idle_stop(struct sandbox *sandbox)
{
	timer_stop(&sandbox->idle.timer);
}

void idle_on_traffic(struct sandbox *sandbox)
{
	sandbox->idle.traffic = true;
	sandbox->idle.since_ms = 0;
}

void idle_on_stats(struct sandbox *sandbox, const struct message_stats *stats)
{
	struct idle *idle = &sandbox->idle;
	uint64_t now_ms = loop_now_ms(), busy_ms, passed_ms;
	struct error err;
	bool rests;

	if (!idle->asked)
		return;
	idle->asked = false;
	busy_ms = stats->cpu_busy_ms - idle->busy_ms;
	passed_ms = now_ms - idle->looked_ms;
	rests = !idle->traffic && idle->looked_ms &&
		stats->cpu_busy_ms >= idle->busy_ms &&
		idle_is_rest(busy_ms, passed_ms);
	if (!rests)
		idle->since_ms = 0;
	else if (!idle->since_ms)
		idle->since_ms = idle->looked_ms;
	idle->traffic = false;
	idle->busy_ms = stats->cpu_busy_ms;
	idle->looked_ms = now_ms;
	if (!idle->since_ms ||
	    now_ms - idle->since_ms < (uint64_t)sandbox->spec->idle_s * 1000 ||
	    somebody_looks(sandbox))
		return;
	log_info("idle for %u s: suspending", sandbox->spec->idle_s);
	idle->since_ms = 0;
	if (saving_begin(sandbox, SAVING_SUSPEND, &err) < 0)
		log_warn("snapshot: %s", err.text);
}
