/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving_copy.c - the thread that copies memory for a snapshot
 */
#include "supervisor/saving_copy.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/own.h"

#define PIECE_BYTES (1u << 20) /* it ends no sooner than after one */
#define NICE 10

static void *copy_all(void *ctx)
{
	struct saving_copy *copy = ctx;
	const uint64_t one = 1;

	/* Linux takes 0 for the thread, not for the process. */
	if (copy->beside)
		(void)setpriority(PRIO_PROCESS, 0, NICE);
	do
		copy->result = copy->part(copy->image, PIECE_BYTES, &copy->err);
	while (copy->result > 0 && !atomic_load(&copy->unwanted));
	if (write(copy->event, &one, sizeof(one)) < 0)
		return ctx; /* it is never full */
	return NULL;
}

static void end(struct saving_copy *copy)
{
	pthread_join(copy->thread, NULL);
	loop_del(&copy->source);
	close(TAKE_FD(copy->event));
	copy->runs = false;
}

static void on_event(struct source *source, uint32_t events)
{
	struct saving_copy *copy =
		CONTAINER_OF(source, struct saving_copy, source);

	(void)events; /* there is but one kind */
	end(copy);
	copy->on_end(copy->ctx, copy->result < 0 ? &copy->err : NULL);
}

int saving_copy_start(struct saving_copy *copy, struct loop *loop,
		      struct error *err)
{
	int failed;

	copy->event = eventfd(0, EFD_CLOEXEC);
	if (copy->event < 0)
		return error_set(err, errno, "eventfd");
	copy->source = (struct source){ .name = "snapshot copy",
					.fd = copy->event,
					.events = EPOLLIN,
					.on_event = on_event };
	atomic_store(&copy->unwanted, false);
	if (loop_add(loop, &copy->source, err) < 0) {
		close(TAKE_FD(copy->event));
		return -1;
	}
	failed = pthread_create(&copy->thread, NULL, copy_all, copy);
	if (failed) {
		loop_del(&copy->source);
		close(TAKE_FD(copy->event));
		return error_set(err, failed, "a thread for the snapshot");
	}
	copy->runs = true;
	return 0;
}

void saving_copy_stop(struct saving_copy *copy)
{
	if (!copy->runs)
		return;
	atomic_store(&copy->unwanted, true);
	end(copy);
}
