/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one thread, one epoll, level-triggered
 *
 * Sources and timers are embedded in their owners. loop_del() and timer_stop()
 * may be called from any callback, also from their own: events that were
 * already fetched for a deleted source are dropped. Memory that holds a source
 * goes through loop_defer_free(), which frees it after the current round.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

struct error;
struct loop;
struct source;
struct timer;

typedef void source_fn(struct source *source, uint32_t events);
typedef void timer_fn(struct timer *timer);
typedef void signal_fn(void *ctx, const struct signalfd_siginfo *info);
typedef void round_fn(void *ctx);

struct source {
	const char *name; /* for traces: "guest console", "upstream tcp" */
	int fd;           /* borrowed; the owner closes it after loop_del() */
	uint32_t events;  /* what we are waiting for now: EPOLLIN, EPOLLOUT */
	source_fn *on_event;

	struct loop *loop; /* private: NULL when not added */
	unsigned slot;     /* private */
};

struct timer {
	const char *name;
	timer_fn *on_fire;

	struct loop *loop;  /* private: NULL when not running */
	uint64_t due_ms;    /* private: CLOCK_BOOTTIME milliseconds */
	struct timer *next; /* private */
};

struct loop *loop_new(struct error *err);
void loop_free(struct loop *loop);

int loop_add(struct loop *loop, struct source *source, struct error *err);
/* Changes what is waited for; 0 is allowed (only EPOLLHUP/EPOLLERR come). */
void loop_wait_for(struct source *source, uint32_t events);
/* Harmless when the source is not added. */
void loop_del(struct source *source);

/* One-shot. Starting a running timer moves it. */
void timer_start(struct loop *loop, struct timer *timer, uint64_t delay_ms);
void timer_stop(struct timer *timer);

/* Blocks the signals of set and delivers them by callback; once per loop. */
int loop_signals(struct loop *loop, const sigset_t *set, signal_fn *on_signal,
		 void *ctx, struct error *err);

/*
 * Called before each wait for events: whoever collects what the callbacks of a
 * round produce writes it there, once. One for each loop.
 */
void loop_before_wait(struct loop *loop, round_fn *fn, void *ctx);

/* free(memory) after the events of the current round were dispatched. */
void loop_defer_free(struct loop *loop, void *memory);

/* Until loop_stop(). Returns 0, or -1 when epoll itself failed. */
int loop_run(struct loop *loop, struct error *err);
/* One round; waits at most timeout_ms (-1 = for ever). For tests. */
int loop_step(struct loop *loop, int timeout_ms, struct error *err);
void loop_stop(struct loop *loop);

uint64_t loop_now_ms(void); /* CLOCK_BOOTTIME */
