/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_spin.c - looking again for a while instead of going to sleep
 */
#include "guest/relay_spin.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "proto/rings.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void spin_init(struct spin *spin)
{
	*spin = (struct spin){ .off = sysconf(_SC_NPROCESSORS_ONLN) < 2 };
}

void spin_begin(struct spin *spin, uint64_t now)
{
	spin->began_ns = spin->looked_ns = now;
	spin->disturbed = false;
}

bool spin_again(struct spin *spin, uint64_t now)
{
	if (spin->off || spin->score < SPIN_FROM)
		return false;
	spin->disturbed = now - spin->looked_ns >= SPIN_DISTURBED_NS;
	spin->looked_ns = now;
	return !spin->disturbed && now - spin->began_ns < SPIN_NS;
}

void spin_end(struct spin *spin, uint64_t now)
{
	if (now - spin->began_ns >= SPIN_SHORT_NS)
		spin->score /= 2;
	else if (!spin->disturbed && spin->score < SPIN_MOST)
		spin->score++;
}

static bool is_ready(const struct spin_beside *beside)
{
	return beside->rings && rings_ready(beside->rings);
}

static int sleep_on(int epoll_fd, struct epoll_event *events, int max,
		    int timeout_ms, const struct spin_beside *beside)
{
	int n;

	if (!beside->rings)
		return epoll_wait(epoll_fd, events, max, timeout_ms);
	rings_sleep(beside->rings,
		    beside->full ? RINGS_FOR_ROOM : RINGS_FOR_BYTES);
	/* What came before that could be known. */
	n = epoll_wait(epoll_fd, events, max,
		       is_ready(beside) ? 0 : timeout_ms);
	rings_sleep(beside->rings, RINGS_AWAKE);
	return n;
}

int spin_wait(struct spin *spin, int epoll_fd, struct epoll_event *events,
	      int max, int timeout_ms, const struct spin_beside *beside)
{
	bool taken = false;
	int n = 0;

	spin_begin(spin, now_ns());
	do {
		if (beside->take && spin->takes++ < SPIN_TAKES) {
			taken = beside->take(beside->ctx);
			continue;
		}
		spin->takes = 0;
		n = epoll_wait(epoll_fd, events, max, 0);
	} while (n == 0 && !taken && !is_ready(beside) &&
		 spin_again(spin, now_ns()));
	if (n == 0 && !taken && !is_ready(beside)) {
		if (beside->rest)
			beside->rest(beside->ctx);
		n = sleep_on(epoll_fd, events, max, timeout_ms, beside);
	}
	spin_end(spin, now_ns());
	return n;
}
