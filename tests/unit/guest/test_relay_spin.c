/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_relay_spin.c - when the relay looks again, and when it sleeps
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "guest/relay_spin.h"
#include "lib/tap.h"
#include "proto/rings.h"

#define LOOK_NS 10000

/* One wait in which something comes after so long; how often it looked. */
static unsigned wait_for(struct spin *spin, uint64_t *now, uint64_t wait)
{
	uint64_t end = *now + wait;
	unsigned looks = 0;

	spin_begin(spin, *now);
	while (spin_again(spin, *now) && *now < end) {
		*now += LOOK_NS;
		looks++;
	}
	*now = end;
	spin_end(spin, *now);
	return looks;
}

static struct spin busy(uint64_t *now)
{
	struct spin spin = { 0 };

	for (int i = 0; i < SPIN_MOST; i++)
		wait_for(&spin, now, SPIN_SHORT_NS - 1);
	return spin;
}

static void who_is_mostly_asked_soon_looks_before_it_sleeps(void)
{
	struct spin spin = { 0 };
	uint64_t now = 77;

	for (int i = 0; i < SPIN_FROM; i++)
		CHECK(wait_for(&spin, &now, SPIN_NS / 2) == 0);
	CHECK(wait_for(&spin, &now, SPIN_NS / 2) == SPIN_NS / 2 / LOOK_NS);
	/* One that takes long changes nothing yet. */
	spin = busy(&now);
	CHECK(wait_for(&spin, &now, 10 * SPIN_SHORT_NS) == SPIN_NS / LOOK_NS);
	CHECK(wait_for(&spin, &now, SPIN_NS / 2) > 0);
}

static void who_is_seldom_asked_sleeps_at_once(void)
{
	uint64_t now = 77;
	struct spin spin = busy(&now);
	unsigned waits = 0;

	while (wait_for(&spin, &now, SPIN_SHORT_NS))
		CHECK(++waits < 8);
	for (int i = 0; i < 100; i++)
		CHECK(wait_for(&spin, &now, SPIN_SHORT_NS) == 0);
}

static void disturb(struct spin *spin, uint64_t *now)
{
	spin_begin(spin, *now);
	*now += SPIN_DISTURBED_NS;
	CHECK(!spin_again(spin, *now));
	spin_end(spin, *now);
}

static void who_is_kept_from_running_gives_its_cpu_away(void)
{
	uint64_t now = 77;
	struct spin spin = busy(&now);

	for (int i = 0; i < 100; i++)
		disturb(&spin, &now);
	/* It says nothing about when the next one comes. */
	CHECK(wait_for(&spin, &now, SPIN_NS / 2) > 0);
	spin = (struct spin){ .score = SPIN_FROM };
	disturb(&spin, &now);
	CHECK(spin.score == SPIN_FROM);
	/* But a long wait is one. */
	spin_begin(&spin, now);
	now += SPIN_SHORT_NS;
	CHECK(!spin_again(&spin, now));
	spin_end(&spin, now);
	CHECK(wait_for(&spin, &now, SPIN_NS / 2) == 0);
}

static void the_only_cpu_is_the_others(void)
{
	uint64_t now = 77;
	struct spin spin = busy(&now);

	spin.off = true;
	CHECK(wait_for(&spin, &now, SPIN_NS / 2) == 0);
	spin_init(&spin);
	CHECK(spin.off == (sysconf(_SC_NPROCESSORS_ONLN) < 2) && !spin.score);
}

static void it_waits_like_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 5 };
	const struct spin_beside none = { 0 };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct spin spin = { .score = SPIN_MOST };
	uint64_t one = 1;

	CHECK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
	event = (struct epoll_event){ 0 };
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, 0, &none) == 0);
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, 1, &none) == 0);
	CHECK(write(fd, &one, sizeof(one)) == sizeof(one));
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, -1, &none) == 1);
	CHECK(event.data.u32 == 5);
	CHECK(spin_wait(&spin, -1, &event, 1, -1, &none) == -1);
	close(fd);
	close(epoll_fd);
}

static void it_looks_into_the_rings_as_well(void)
{
	void *memory = xcalloc(1, RINGS_BYTES);
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	struct spin spin = { .off = true };
	struct rings guest, host;
	struct spin_beside beside = { .rings = &guest };

	rings_init(&guest, RINGS_GUEST, memory);
	rings_init(&host, RINGS_HOST, memory);
	rings_begin_in(&guest, rings_begin_out(&host));
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, 1, &beside) == 0);
	/* awake again, and nothing has come */
	CHECK(!rings_ready(&guest) && !rings_must_wake(&host, RINGS_FOR_BYTES));
	rings_write(&host, "x", 1);
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, -1, &beside) == 0);
	CHECK(rings_ready(&guest));
	close(epoll_fd);
	free(memory);
}

/* Somebody who asks after so many looks, and what he was asked meanwhile. */
struct asker {
	unsigned after, looks, rests;
};

static bool take(void *ctx)
{
	struct asker *asker = ctx;

	return asker->looks++ == asker->after;
}

static void rest(void *ctx)
{
	struct asker *asker = ctx;

	asker->rests++;
}

static void it_takes_what_has_come_without_waiting(void)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { 0 };
	struct spin spin = { .score = SPIN_MOST };
	struct asker asker = { .after = 3 };
	struct spin_beside beside = { .take = take,
				      .rest = rest,
				      .ctx = &asker };

	CHECK(spin_wait(&spin, epoll_fd, &event, 1, -1, &beside) == 0);
	CHECK(asker.looks == 4 && asker.rests == 0);
	/* Nobody asks: all have to be heard of while it sleeps. */
	asker = (struct asker){ .after = 1000000 };
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, 1, &beside) == 0);
	CHECK(asker.looks > 0 && asker.rests == 1);
	/* Who does not look again has looked once. */
	spin = (struct spin){ .off = true };
	asker = (struct asker){ .after = 1 };
	CHECK(spin_wait(&spin, epoll_fd, &event, 1, 1, &beside) == 0);
	CHECK(asker.looks == 1 && asker.rests == 1);
	close(epoll_fd);
}

static void who_asks_all_the_time_does_not_keep_the_others_waiting(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 5 };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	struct spin spin = { .score = SPIN_MOST };
	struct asker asker;
	struct spin_beside beside = { .take = take,
				      .rest = rest,
				      .ctx = &asker };
	unsigned before = 0;

	CHECK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0);
	event = (struct epoll_event){ 0 };
	do {
		asker = (struct asker){ .after = 0 };
		before++;
	} while (spin_wait(&spin, epoll_fd, &event, 1, -1, &beside) == 0 &&
		 before < 100);
	CHECK(before == SPIN_TAKES + 1 && event.data.u32 == 5);
	close(fd);
	close(epoll_fd);
}

int main(void)
{
	RUN(who_is_mostly_asked_soon_looks_before_it_sleeps);
	RUN(who_is_seldom_asked_sleeps_at_once);
	RUN(who_is_kept_from_running_gives_its_cpu_away);
	RUN(the_only_cpu_is_the_others);
	RUN(it_waits_like_epoll);
	RUN(it_looks_into_the_rings_as_well);
	RUN(it_takes_what_has_come_without_waiting);
	RUN(who_asks_all_the_time_does_not_keep_the_others_waiting);
	return DONE();
}
