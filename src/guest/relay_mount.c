/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_mount.c - which share is mounted or unmounted next, by a child
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/relay_internal.h"

static void close_child(struct relay_child *child)
{
	int *const fds[] = { &child->command, &child->report, &child->device };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static void note_problem(struct relay *relay, const char *text)
{
	log_warn("files: %s", text);
	if (!relay->problem[0])
		text_copy(relay->problem, sizeof(relay->problem), text);
}

/* A number keeps its meaning: the notifier may be using it. */
static void take_device(struct relay_share *share, struct relay_child *child)
{
	if (share->fd < 0) {
		share->fd = TAKE_FD(child->device);
		return;
	}
	dup3(child->device, share->fd, O_CLOEXEC);
	close(TAKE_FD(child->device));
}

static int start_child(struct relay *relay, unsigned number,
		       enum relay_task task)
{
	struct relay_share *share = &relay->shares[number];
	struct relay_order order = { .task = task,
				     .number = number,
				     .flags = share->flags,
				     .type = share->type,
				     .clear = relay->again };

	text_copy(order.path, sizeof(order.path), share->path);
	relay->again = false;
	/* Somebody may have killed the one that was forked ahead. */
	if (relay->spare.command < 0 ||
	    relay_child_start(&relay->spare, &order)) {
		close_child(&relay->spare);
		if (relay_child_fork(&relay->spare) ||
		    relay_child_start(&relay->spare, &order))
			return -1;
	}
	if (task == RELAY_MOUNT)
		take_device(share, &relay->spare);
	relay->mount_fd = TAKE_FD(relay->spare.report);
	close_child(&relay->spare);
	relay->mount_share = number;
	relay->mount_done = relay->mount_usable = false;
	return relay_watch(relay, relay->mount_fd, RELAY_EVENT_MOUNT, EPOLLIN);
}

static bool begin(struct relay *relay, unsigned number)
{
	struct relay_share *share = &relay->shares[number];
	enum relay_task task = RELAY_MOUNT;

	if (share->state == RELAY_SHARE_LEAVING)
		task = RELAY_UNMOUNT;
	else if (share->state == RELAY_SHARE_BARE)
		task = RELAY_COVER;
	else
		share->state = RELAY_SHARE_MOUNTING;
	relay->mount_task = task;
	if (!start_child(relay, number, task))
		return true;
	note_problem(relay, strerror(errno));
	if (task == RELAY_COVER)
		share->state = RELAY_SHARE_MOUNTED;
	else
		relay_fuse_over(relay, number);
	return false;
}

/* Leaving ones inside out, then offered ones outside in. */
static int choose(const struct relay *relay)
{
	int best = -1;

	for (unsigned i = 0; i < relay->count; i++) {
		const struct relay_share *share = &relay->shares[i], *other;
		bool before;

		if (share->state != RELAY_SHARE_OFFERED &&
		    share->state != RELAY_SHARE_BARE &&
		    share->state != RELAY_SHARE_LEAVING)
			continue;
		if (best < 0) {
			best = (int)i;
			continue;
		}
		other = &relay->shares[best];
		if ((share->state == RELAY_SHARE_LEAVING) !=
		    (other->state == RELAY_SHARE_LEAVING))
			before = share->state == RELAY_SHARE_LEAVING;
		else if (share->state == RELAY_SHARE_LEAVING)
			before = strcmp(share->path, other->path) > 0;
		else
			before = strcmp(share->path, other->path) < 0;
		if (before)
			best = (int)i;
	}
	return best;
}

bool relay_mount_busy(const struct relay *relay)
{
	return relay->mount_fd >= 0 || choose(relay) >= 0;
}

bool relay_mount_waits(const struct relay *relay)
{
	return (relay->mount_fd >= 0 && !relay->mount_usable) ||
	       choose(relay) >= 0;
}

void relay_mount_init(struct relay *relay)
{
	relay->mount_fd = -1;
	relay->spare = RELAY_CHILD_NONE;
	if (relay_child_fork(&relay->spare))
		log_debug("no child to mount: %s", strerror(errno));
}

void relay_mount_next(struct relay *relay)
{
	int number;

	while (relay->mount_fd < 0 && (number = choose(relay)) >= 0) {
		if (begin(relay, (unsigned)number))
			return;
	}
}

/* False when nothing more will come. */
static bool hear_child(struct relay *relay)
{
	unsigned number = relay->mount_share;
	char text[sizeof(relay->problem)];
	ssize_t n = read(relay->mount_fd, text, sizeof(text) - 1);
	const char *problem = text;

	if (n <= 0)
		return false;
	text[n] = '\0';
	/* Before the mount the device cannot be waited for. */
	if (*problem == RELAY_CHILD_MOUNTED) {
		relay->mount_done = true;
		relay->shares[number].muted = false;
		relay_watch(relay, relay->shares[number].fd, number, EPOLLIN);
		problem++;
	}
	if (*problem == RELAY_CHILD_USABLE) {
		relay->mount_usable = true;
		problem++;
	}
	if (*problem) {
		note_problem(relay, problem);
		if (relay->mount_task != RELAY_COVER)
			relay_fuse_over(relay, number);
	}
	return true;
}

void relay_mount_event(struct relay *relay)
{
	struct relay_share *share = &relay->shares[relay->mount_share];

	if (hear_child(relay))
		return;
	close(relay->mount_fd);
	relay->mount_fd = -1;
	if (relay->mount_task == RELAY_COVER) {
		if (!relay->mount_usable)
			note_problem(relay, "an overlay was interrupted");
		share->state = share->flags & RECORD_SHARE_GONE
				       ? RELAY_SHARE_LEAVING
				       : RELAY_SHARE_MOUNTED;
		relay_mount_next(relay);
		return;
	}
	if (share->state == RELAY_SHARE_MOUNTING && !relay->mount_done)
		note_problem(relay, "mounting was interrupted");
	if (share->state == RELAY_SHARE_LEAVING || !relay->mount_done)
		relay_fuse_over(relay, relay->mount_share);
	else if (share->state == RELAY_SHARE_MOUNTING)
		share->state = share->flags & RECORD_SHARE_GONE
				       ? RELAY_SHARE_LEAVING
				       : RELAY_SHARE_MOUNTED;
	relay_mount_next(relay);
}
