/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loop.c - unit tests of base/loop.h; the memory rules need ASan
 */
#include "base/loop.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "lib/tap.h"

AUTO_DEFINE(loop, struct loop *, loop_free)

/* An owner with a ready descriptor; what happens is in `calls`. */
struct peer {
	struct source source;
	struct loop *loop;
	struct peer *victim;
	int calls;
	uint32_t seen;
};

static int freed_peers_called;

static void count_call(struct source *source, uint32_t events)
{
	struct peer *peer = CONTAINER_OF(source, struct peer, source);

	peer->calls++;
	peer->seen = events;
}

static struct peer *peer_new(struct loop *loop, source_fn *on_event)
{
	struct peer *peer = xcalloc(1, sizeof(*peer));

	peer->loop = loop;
	peer->source = (struct source){
		.name = "peer",
		.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK),
		.events = EPOLLIN,
		.on_event = on_event,
	};
	if (loop_add(loop, &peer->source, NULL) < 0)
		abort();
	return peer;
}

static void peer_free(struct peer *peer)
{
	loop_del(&peer->source);
	close(peer->source.fd);
	loop_defer_free(peer->loop, peer);
}

static void ready_source_is_called_until_it_is_read(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *peer = peer_new(loop, count_call);
	uint64_t value;

	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(peer->calls == 2 && peer->seen == EPOLLIN);
	CHECK(read(peer->source.fd, &value, sizeof(value)) == sizeof(value));
	CHECK(loop_step(loop, 0, NULL) == 0);
	CHECK(peer->calls == 2);
	peer_free(peer);
}

static void kill_victim(struct source *source, uint32_t events)
{
	struct peer *peer = CONTAINER_OF(source, struct peer, source);

	peer->calls++;
	if (peer->victim) {
		peer->victim->victim = NULL;
		peer_free(TAKE_PTR(peer->victim));
	}
}

static void first_of_two_ready_sources_may_free_the_second(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *a = peer_new(loop, kill_victim);
	struct peer *b = peer_new(loop, kill_victim);

	a->victim = b;
	b->victim = a;
	CHECK(loop_step(loop, 1000, NULL) == 0);
	/* Whichever came first is left, and was called once. */
	CHECK(loop_step(loop, 1000, NULL) == 0);
	peer_free(a->source.loop ? a : b);
	CHECK(loop_step(loop, 0, NULL) == 0);
}

static void count_stranger(struct source *source, uint32_t events)
{
	freed_peers_called++;
}

/* Frees the victim at once and lets a new source take its slot and fd. */
static void replace_victim(struct source *source, uint32_t events)
{
	struct peer *peer = CONTAINER_OF(source, struct peer, source);
	struct peer *victim = TAKE_PTR(peer->victim);

	if (!victim)
		return;
	victim->victim = NULL;
	loop_del(&victim->source);
	close(victim->source.fd);
	free(victim);
	peer->victim = peer_new(peer->loop, count_stranger);
}

static void late_event_does_not_reach_the_next_owner_of_the_slot(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *a = peer_new(loop, replace_victim);
	struct peer *b = peer_new(loop, replace_victim);
	struct peer *survivor, *stranger;

	a->victim = b;
	b->victim = a;
	freed_peers_called = 0;
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(freed_peers_called == 0);
	/* epoll reports in the order of readiness: a was first. */
	survivor = a;
	stranger = a->victim;
	REQUIRE(stranger != NULL);
	loop_wait_for(&survivor->source, 0);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(freed_peers_called == 1);
	peer_free(stranger);
	peer_free(survivor);
}

static void free_myself(struct source *source, uint32_t events)
{
	struct peer *peer = CONTAINER_OF(source, struct peer, source);

	peer_free(peer);
	/* Memory is there until the round is over. */
	peer->calls++;
}

static void source_may_free_itself(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);

	(void)peer_new(loop, free_myself);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(loop_step(loop, 0, NULL) == 0);
}

static void deleting_twice_is_harmless(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *peer = peer_new(loop, count_call);

	loop_del(&peer->source);
	loop_del(&peer->source);
	CHECK(loop_step(loop, 0, NULL) == 0 && peer->calls == 0);
	CHECK(loop_add(loop, &peer->source, NULL) == 0);
	CHECK(loop_step(loop, 1000, NULL) == 0 && peer->calls == 1);
	peer_free(peer);
}

static void descriptor_closed_too_early_is_harmless(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *peer = peer_new(loop, count_call);
	int copy = dup(peer->source.fd);

	/* The copy keeps the registration alive in the kernel. */
	close(peer->source.fd);
	loop_del(&peer->source);
	CHECK(loop_step(loop, 0, NULL) == 0 && peer->calls == 0);
	close(copy);
	free(peer);
}

static void sources_outlive_the_loop(void)
{
	struct loop *loop = loop_new(NULL);
	struct peer *peer = peer_new(loop, count_call);
	struct timer timer = { .name = "t" };

	timer_start(loop, &timer, 1000);
	loop_free(loop);
	loop_del(&peer->source);
	timer_stop(&timer);
	CHECK(!peer->source.loop && !timer.loop);
	close(peer->source.fd);
	free(peer);
	loop_free(NULL);
}

static void waiting_can_be_changed(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *peer = peer_new(loop, count_call);

	loop_wait_for(&peer->source, 0);
	CHECK(loop_step(loop, 0, NULL) == 0 && peer->calls == 0);
	loop_wait_for(&peer->source, EPOLLOUT);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(peer->calls == 1 && peer->seen == EPOLLOUT);
	loop_wait_for(&peer->source, EPOLLIN | EPOLLOUT);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(peer->seen == (EPOLLIN | EPOLLOUT));
	peer_free(peer);
}

static void silence_victim(struct source *source, uint32_t events)
{
	struct peer *peer = CONTAINER_OF(source, struct peer, source);

	peer->calls++;
	loop_wait_for(&peer->victim->source, 0);
}

static void interest_taken_back_counts_in_the_same_round(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *a = peer_new(loop, silence_victim);
	struct peer *b = peer_new(loop, silence_victim);

	a->victim = b;
	b->victim = a;
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(a->calls + b->calls == 1);
	peer_free(a);
	peer_free(b);
}

static void hangup_comes_without_being_asked_for(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer peer = { .source = { .name = "pipe",
					 .on_event = count_call } };
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	peer.source.fd = ends[0];
	CHECK(loop_add(loop, &peer.source, NULL) == 0);
	close(ends[1]);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(peer.calls == 1 && (peer.seen & EPOLLHUP));
	loop_del(&peer.source);
	close(ends[0]);
}

static void unwatchable_descriptor_is_an_error(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct source source = { .name = "broken",
				 .fd = 9999,
				 .on_event = count_call };
	struct error err = { 0 };

	CHECK(loop_add(loop, &source, &err) == -1);
	CHECK(strstr(err.text, "broken") && !source.loop);
	loop_del(&source);
}

static void many_sources_all_get_called(void)
{
	enum { COUNT = 200 };
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct peer *peers[COUNT];
	int called = 0;

	for (int i = 0; i < COUNT; i++)
		peers[i] = peer_new(loop, count_call);
	for (int i = 0; i < 2 * COUNT; i++)
		CHECK(loop_step(loop, 0, NULL) == 0);
	for (int i = 0; i < COUNT; i++) {
		called += peers[i]->calls > 0;
		peer_free(peers[i]);
	}
	CHECK(called == COUNT);
}

struct alarm {
	struct timer timer;
	struct loop *loop;
	struct alarm *other;
	int fired;
	int order;
};

static int fire_order;

static void count_fire(struct timer *timer)
{
	struct alarm *alarm = CONTAINER_OF(timer, struct alarm, timer);

	alarm->fired++;
	alarm->order = ++fire_order;
}

static void timers_fire_once_and_in_order(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct alarm alarms[3] = { 0 };
	static const uint64_t delays[] = { 30, 10, 10 };
	uint64_t begin = loop_now_ms();

	fire_order = 0;
	for (int i = 0; i < 3; i++) {
		alarms[i].timer =
			(struct timer){ .name = "a", .on_fire = count_fire };
		timer_start(loop, &alarms[i].timer, delays[i]);
	}
	while (fire_order < 3)
		CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(loop_now_ms() - begin >= 29);
	CHECK(loop_step(loop, 20, NULL) == 0);
	CHECK(alarms[1].order == 1 && alarms[2].order == 2);
	CHECK(alarms[0].order == 3 && fire_order == 3);
	CHECK(!alarms[0].timer.loop);
}

static void stopped_timer_does_not_fire_and_restart_moves(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct alarm a = { .timer = { .name = "a", .on_fire = count_fire } };
	struct alarm b = { .timer = { .name = "b", .on_fire = count_fire } };

	timer_start(loop, &a.timer, 5);
	timer_start(loop, &b.timer, 100000);
	timer_stop(&a.timer);
	timer_stop(&a.timer);
	timer_start(loop, &b.timer, UINT64_MAX);
	CHECK(loop_step(loop, 30, NULL) == 0);
	CHECK(!a.fired && !b.fired);
	timer_start(loop, &b.timer, 1);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(b.fired == 1);
}

static void stop_other_and_restart(struct timer *timer)
{
	struct alarm *alarm = CONTAINER_OF(timer, struct alarm, timer);

	alarm->fired++;
	timer_stop(&alarm->other->timer);
	timer_start(alarm->loop, timer, 0);
}

static void timer_callback_may_stop_others_and_restart_itself(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct alarm a = { .loop = loop }, b = { .loop = loop };
	struct peer *peer = peer_new(loop, count_call);

	a.timer = (struct timer){ .on_fire = stop_other_and_restart };
	b.timer = a.timer;
	a.other = &b;
	b.other = &a;
	timer_start(loop, &a.timer, 0);
	timer_start(loop, &b.timer, 0);
	/* It is always due, and the descriptor still gets its turn. */
	while (a.fired < 3 || !peer->calls)
		CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(b.fired == 0);
	peer_free(peer);
}

static int last_signal;

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	last_signal = (int)info->ssi_signo;
	loop_stop(ctx);
}

static void signals_arrive_as_callbacks(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(loop_signals(loop, &set, on_signal, loop, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(loop_run(loop, NULL) == 0);
	CHECK(last_signal == SIGUSR1);
}

static void stop_before_run_counts_once(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	struct alarm a = { .timer = { .on_fire = count_fire } };

	loop_stop(loop);
	CHECK(loop_run(loop, NULL) == 0);
	timer_start(loop, &a.timer, 0);
	CHECK(loop_step(loop, 1000, NULL) == 0);
	CHECK(a.fired == 1);
}

static void count_round(void *ctx)
{
	++*(int *)ctx;
}

static void what_a_round_collected_is_written_before_the_wait(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);
	int rounds = 0;

	loop_before_wait(loop, count_round, &rounds);
	CHECK(loop_step(loop, 0, NULL) == 0 && rounds == 1);
	CHECK(loop_step(loop, 0, NULL) == 0 && rounds == 2);
	loop_before_wait(loop, NULL, NULL);
	CHECK(loop_step(loop, 0, NULL) == 0 && rounds == 2);
}

static void deferred_memory_is_freed_with_the_loop(void)
{
	AUTO(loop) struct loop *loop = loop_new(NULL);

	for (int i = 0; i < 40; i++)
		loop_defer_free(loop, xmalloc(10));
	loop_defer_free(loop, NULL);
	CHECK(loop != NULL);
}

int main(void)
{
	RUN(ready_source_is_called_until_it_is_read);
	RUN(first_of_two_ready_sources_may_free_the_second);
	RUN(late_event_does_not_reach_the_next_owner_of_the_slot);
	RUN(source_may_free_itself);
	RUN(deleting_twice_is_harmless);
	RUN(descriptor_closed_too_early_is_harmless);
	RUN(sources_outlive_the_loop);
	RUN(waiting_can_be_changed);
	RUN(interest_taken_back_counts_in_the_same_round);
	RUN(hangup_comes_without_being_asked_for);
	RUN(unwatchable_descriptor_is_an_error);
	RUN(many_sources_all_get_called);
	RUN(timers_fire_once_and_in_order);
	RUN(stopped_timer_does_not_fire_and_restart_moves);
	RUN(timer_callback_may_stop_others_and_restart_itself);
	RUN(signals_arrive_as_callbacks);
	RUN(stop_before_run_counts_once);
	RUN(what_a_round_collected_is_written_before_the_wait);
	RUN(deferred_memory_is_freed_with_the_loop);
	return DONE();
}
