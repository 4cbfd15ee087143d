/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - one thread, one epoll, level-triggered
 *
 * epoll hands back 64 bits that we chose. A pointer there would dangle when a
 * callback deletes a source whose event was fetched in the same round, so the
 * bits are a slot and the slot's generation: deleting frees the slot and moves
 * its generation on, and a late event finds nobody. Descriptors that were
 * closed without loop_del() (a duplicate elsewhere keeps them in the epoll
 * set) are harmless for the same reason.
 *
 * Timers are a sorted list with one timerfd for the first of them. There are a
 * handful in each process; a heap would be slower to read than to run.
 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"

enum {
	EVENTS_PER_ROUND = 64,
	/*
	 * A zero-delay timer that starts itself again must not starve the
	 * descriptors.
	 */
	TIMERS_PER_ROUND = 64,
};

struct slot {
	struct source *source; /* NULL when free */
	uint32_t generation;
	unsigned next_free;
};

struct loop {
	int epoll_fd;       /* owned */
	struct slot *slots; /* owned */
	unsigned slot_count;
	unsigned first_free; /* slot_count when there is none */

	struct source timer_source;
	int timer_fd;         /* owned */
	struct timer *timers; /* first due first */
	uint64_t armed_ms;    /* what timer_fd is set to; 0 = nothing */

	struct source signal_source;
	int signal_fd; /* owned; -1 before loop_signals() */
	signal_fn *on_signal;
	void *signal_ctx;

	round_fn *before_wait; /* NULL: nobody asked */
	void *before_wait_ctx;

	void **deferred; /* owned, and so is each entry */
	size_t deferred_count, deferred_capacity;
	bool stopped;
};

uint64_t loop_now_ms(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Sets the timerfd to the first timer. */
static void arm_timer(struct loop *loop)
{
	uint64_t due_ms = loop->timers ? loop->timers->due_ms : 0;
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(due_ms / 1000),
			      .tv_nsec = (long)(due_ms % 1000) * 1000000 },
	};

	if (due_ms == loop->armed_ms)
		return;
	loop->armed_ms = due_ms;
	(void)timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void loop_on_timerfd(struct source *source, uint32_t events)
{
	struct loop *loop = CONTAINER_OF(source, struct loop, timer_source);
	uint64_t now_ms = loop_now_ms();
	uint64_t expirations;
	ssize_t ignored =
		read(loop->timer_fd, &expirations, sizeof(expirations));

	(void)ignored;
	loop->armed_ms = 0;
	for (int i = 0; i < TIMERS_PER_ROUND && loop->timers; i++) {
		struct timer *timer = loop->timers;

		if (timer->due_ms > now_ms)
			break;
		timer_stop(timer);
		log_trace("%s: timer", timer->name ? timer->name : "?");
		timer->on_fire(timer);
	}
	/* A callback may have armed it: armed_ms tells what is set now. */
	arm_timer(loop);
}

static void loop_on_signalfd(struct source *source, uint32_t events)
{
	struct loop *loop = CONTAINER_OF(source, struct loop, signal_source);
	struct signalfd_siginfo info;

	/* One for each wake-up: level-triggered brings us back. */
	if (read(loop->signal_fd, &info, sizeof(info)) == sizeof(info))
		loop->on_signal(loop->signal_ctx, &info);
}

struct loop *loop_new(struct error *err)
{
	struct loop *loop = xcalloc(1, sizeof(*loop));

	loop->signal_fd = -1;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->timer_fd =
		timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (loop->epoll_fd < 0 || loop->timer_fd < 0) {
		(void)error_set(err, errno, "event loop");
		loop_free(loop);
		return NULL;
	}
	loop->timer_source = (struct source){
		.name = "timers",
		.fd = loop->timer_fd,
		.events = EPOLLIN,
		.on_event = loop_on_timerfd,
	};
	if (loop_add(loop, &loop->timer_source, err) < 0) {
		loop_free(loop);
		return NULL;
	}
	return loop;
}

static void free_deferred(struct loop *loop)
{
	while (loop->deferred_count)
		free(loop->deferred[--loop->deferred_count]);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	/* Owners may still call loop_del() and timer_stop() afterwards. */
	for (unsigned i = 0; i < loop->slot_count; i++) {
		if (loop->slots[i].source)
			loop->slots[i].source->loop = NULL;
	}
	while (loop->timers) {
		struct timer *timer = loop->timers;

		loop->timers = timer->next;
		timer->loop = NULL;
		timer->next = NULL;
	}
	free_deferred(loop);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	if (loop->timer_fd >= 0)
		close(loop->timer_fd);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	free(loop->deferred);
	free(loop->slots);
	free(loop);
}

static unsigned take_slot(struct loop *loop)
{
	unsigned slot = loop->first_free;

	if (slot == loop->slot_count) {
		unsigned count = loop->slot_count ? loop->slot_count * 2 : 16;

		loop->slots =
			xrealloc(loop->slots, count * sizeof(*loop->slots));
		for (unsigned i = loop->slot_count; i < count; i++)
			loop->slots[i] = (struct slot){ .next_free = i + 1 };
		loop->slot_count = count;
	}
	loop->first_free = loop->slots[slot].next_free;
	return slot;
}

static void give_slot(struct loop *loop, unsigned slot)
{
	loop->slots[slot].source = NULL;
	loop->slots[slot].generation++;
	loop->slots[slot].next_free = loop->first_free;
	loop->first_free = slot;
}

static struct epoll_event epoll_bits(const struct source *source)
{
	uint64_t generation = source->loop->slots[source->slot].generation;

	return (struct epoll_event){
		.events = source->events,
		.data.u64 = generation << 32 | source->slot,
	};
}

int loop_add(struct loop *loop, struct source *source, struct error *err)
{
	struct epoll_event event;

	assert(!source->loop);
	source->loop = loop;
	source->slot = take_slot(loop);
	loop->slots[source->slot].source = source;
	event = epoll_bits(source);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) == 0)
		return 0;
	(void)error_set(err, errno, "watch %s",
			source->name ? source->name : "a descriptor");
	give_slot(loop, source->slot);
	source->loop = NULL;
	return -1;
}

void loop_wait_for(struct source *source, uint32_t events)
{
	struct epoll_event event;

	if (source->events == events || !source->loop) {
		source->events = events;
		return;
	}
	source->events = events;
	event = epoll_bits(source);
	if (epoll_ctl(source->loop->epoll_fd, EPOLL_CTL_MOD, source->fd,
		      &event) < 0)
		log_error("%s: epoll: cannot change events",
			  source->name ? source->name : "?");
}

void loop_del(struct source *source)
{
	struct loop *loop = source->loop;

	if (!loop)
		return;
	/* Fails when the owner closed fd before: then it is gone already. */
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	give_slot(loop, source->slot);
	source->loop = NULL;
}

void timer_start(struct loop *loop, struct timer *timer, uint64_t delay_ms)
{
	struct timer **pos = &loop->timers;
	uint64_t now_ms = loop_now_ms();

	timer_stop(timer);
	/* Never 0, which the timerfd takes for "off". */
	timer->due_ms =
		delay_ms < INT64_MAX - now_ms ? now_ms + delay_ms : INT64_MAX;
	if (!timer->due_ms)
		timer->due_ms = 1;
	/* Behind the ones that are due at the same time: first come first. */
	while (*pos && (*pos)->due_ms <= timer->due_ms)
		pos = &(*pos)->next;
	timer->next = *pos;
	*pos = timer;
	timer->loop = loop;
	arm_timer(loop);
}

void timer_stop(struct timer *timer)
{
	struct loop *loop = timer->loop;

	if (!loop)
		return;
	for (struct timer **pos = &loop->timers; *pos; pos = &(*pos)->next) {
		if (*pos != timer)
			continue;
		*pos = timer->next;
		break;
	}
	timer->loop = NULL;
	timer->next = NULL;
	arm_timer(loop);
}

int loop_signals(struct loop *loop, const sigset_t *set, signal_fn *on_signal,
		 void *ctx, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	assert(loop->signal_fd < 0);
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0)
		return error_set(err, errno, "block signals");
	fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "signalfd");
	loop->signal_source = (struct source){
		.name = "signals",
		.fd = fd,
		.events = EPOLLIN,
		.on_event = loop_on_signalfd,
	};
	loop->on_signal = on_signal;
	loop->signal_ctx = ctx;
	if (loop_add(loop, &loop->signal_source, err) < 0)
		return -1;
	loop->signal_fd = TAKE_FD(fd);
	return 0;
}

void loop_before_wait(struct loop *loop, round_fn *fn, void *ctx)
{
	loop->before_wait = fn;
	loop->before_wait_ctx = ctx;
}

void loop_defer_free(struct loop *loop, void *memory)
{
	if (!memory)
		return;
	if (loop->deferred_count == loop->deferred_capacity) {
		loop->deferred_capacity = loop->deferred_capacity
						  ? loop->deferred_capacity * 2
						  : 16;
		loop->deferred =
			xrealloc(loop->deferred,
				 loop->deferred_capacity * sizeof(void *));
	}
	loop->deferred[loop->deferred_count++] = memory;
}

static void trace_wakeup(const struct source *source, uint32_t events)
{
	if (log_enabled(LOG_LEVEL_TRACE))
		log_trace("%s:%s%s%s%s", source->name ? source->name : "?",
			  events & EPOLLIN ? " EPOLLIN" : "",
			  events & EPOLLOUT ? " EPOLLOUT" : "",
			  events & EPOLLHUP ? " EPOLLHUP" : "",
			  events & EPOLLERR ? " EPOLLERR" : "");
}

static void dispatch(struct loop *loop, const struct epoll_event *event)
{
	unsigned index = (unsigned)(event->data.u64 & UINT32_MAX);
	uint32_t generation = (uint32_t)(event->data.u64 >> 32);
	struct source *source;
	uint32_t events;

	if (index >= loop->slot_count ||
	    loop->slots[index].generation != generation)
		return;
	source = loop->slots[index].source;
	if (!source)
		return;
	/*
	 * A callback of this round may have taken back its interest: what was
	 * fetched before is filtered, so that "no EPOLLIN wanted" means it.
	 */
	events = event->events & (source->events | EPOLLHUP | EPOLLERR);
	if (!events)
		return;
	trace_wakeup(source, events);
	source->on_event(source, events);
}

int loop_step(struct loop *loop, int timeout_ms, struct error *err)
{
	struct epoll_event events[EVENTS_PER_ROUND];
	int count;

	if (loop->before_wait)
		loop->before_wait(loop->before_wait_ctx);
	count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_ROUND,
			   timeout_ms);
	if (count < 0 && errno != EINTR)
		return error_set(err, errno, "epoll_wait");
	for (int i = 0; i < count; i++)
		dispatch(loop, &events[i]);
	free_deferred(loop);
	return 0;
}

int loop_run(struct loop *loop, struct error *err)
{
	while (!loop->stopped) {
		if (loop_step(loop, -1, err) < 0)
			return -1;
	}
	/* Cleared here and not above: a stop during set-up must count. */
	loop->stopped = false;
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
