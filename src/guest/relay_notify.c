/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_notify.c - a thread for what the kernel may make us wait for
 *
 * While the kernel takes a notification it may wait for a page that only an
 * answer unlocks; so answers must not queue behind notifications, and the loop
 * must not wait for room in this queue. When it is full, everything in it is
 * replaced by one order: drop what is cached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "guest/relay_internal.h"

#define QUEUE_BYTES_MAX (16U << 20)
#define STACK_BYTES (64U << 10)

struct notice {
	struct list link;
	struct record record;
	uint8_t payload[];
};

static void clear(struct relay_notifier *notifier)
{
	LIST_FOR_EACH(node, &notifier->queue) {
		list_remove(node);
		free(LIST_ENTRY(node, struct notice, link));
	}
	notifier->queued_bytes = 0;
}

static struct notice *take(struct relay_notifier *notifier, bool *drop)
{
	struct notice *notice = NULL;

	pthread_mutex_lock(&notifier->lock);
	while (list_empty(&notifier->queue) && !notifier->drop)
		pthread_cond_wait(&notifier->filled, &notifier->lock);
	*drop = notifier->drop;
	notifier->drop = false;
	if (!list_empty(&notifier->queue)) {
		notice = LIST_ENTRY(notifier->queue.next, struct notice, link);
		list_remove(&notice->link);
		notifier->queued_bytes -= sizeof(*notice) + notice->record.len;
	}
	pthread_mutex_unlock(&notifier->lock);
	return notice;
}

static void do_late(struct relay *relay)
{
	LIST_FOR_EACH(node, &relay->notifier.late) {
		struct notice *notice = LIST_ENTRY(node, struct notice, link);

		list_remove(node);
		relay_ticket(relay, notice->record.share, notice->payload,
			     notice->record.len);
		free(notice);
	}
}

/*
 * overlayfs answers ESTALE for a name whose lower file was replaced, as long
 * as it remembers the name. So it is made to forget; once for many notices.
 * Who hears of a change finds it only afterwards.
 */
static void drop_stale(struct relay *relay)
{
	struct relay_notifier *notifier = &relay->notifier;
	bool more;

	pthread_mutex_lock(&notifier->lock);
	more = !list_empty(&notifier->queue) || notifier->drop;
	pthread_mutex_unlock(&notifier->lock);
	if (more)
		return;
	if (notifier->stale) {
		notifier->stale = false;
		relay_drop_overlays(relay);
	}
	do_late(relay);
}

static bool renames_below(const struct relay *relay,
			  const struct record *record, const uint8_t *payload)
{
	struct fuse_out_header head;

	if (record->type != RECORD_FUSE || record->len < sizeof(head) ||
	    !(relay->shares[record->share].flags & RECORD_SHARE_OVERLAY))
		return false;
	memcpy(&head, payload, sizeof(head));
	return head.error == FUSE_NOTIFY_INVAL_ENTRY ||
	       head.error == FUSE_NOTIFY_DELETE;
}

/* At most as many as the server has with us at a time. */
static bool is_late(const struct relay *relay, const struct record *record)
{
	return record->type == RECORD_TICKET &&
	       (relay->shares[record->share].flags & RECORD_SHARE_OVERLAY);
}

static void tell_and_free(struct relay *relay, struct notice *notice)
{
	const struct record *record = &notice->record;

	if (renames_below(relay, record, notice->payload))
		relay->notifier.stale = true;
	if (record->type == RECORD_DROP)
		relay_drop(relay, record->share);
	else if (record->type == RECORD_TICKET)
		relay_ticket(relay, record->share, notice->payload,
			     record->len);
	/* ENOENT: the kernel has nothing of it cached. */
	else if (write(relay->shares[record->share].fd, notice->payload,
		       record->len) < 0 &&
		 errno != ENOENT)
		log_limited(LOG_LEVEL_DEBUG, "notification: %s",
			    strerror(errno));
	free(notice);
}

static void *run(void *ctx)
{
	struct relay *relay = ctx;
	struct relay_notifier *notifier = &relay->notifier;

	/* A heap of its own, if it gets one: now, before there is haste. */
	free(xmalloc(1));
	pthread_mutex_lock(&notifier->lock);
	notifier->thread = (uint32_t)syscall(SYS_gettid);
	pthread_cond_broadcast(&notifier->filled);
	pthread_mutex_unlock(&notifier->lock);
	for (;;) {
		bool drop;
		struct notice *notice = take(notifier, &drop);

		for (unsigned i = 0; drop && i < relay->count; i++)
			relay_drop(relay, i);
		if (notice && is_late(relay, &notice->record))
			list_append(&notifier->late, &notice->link);
		else if (notice)
			tell_and_free(relay, notice);
		drop_stale(relay);
	}
	return NULL;
}

int relay_notify_start(struct relay *relay)
{
	struct relay_notifier *notifier = &relay->notifier;
	pthread_attr_t attr;
	pthread_t thread;
	int code;

	list_init(&notifier->queue);
	list_init(&notifier->late);
	pthread_mutex_init(&notifier->lock, NULL);
	pthread_cond_init(&notifier->filled, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	code = pthread_create(&thread, &attr, run, relay);
	pthread_attr_destroy(&attr);
	if (code) {
		errno = code;
		return -1;
	}
	pthread_mutex_lock(&notifier->lock);
	while (!notifier->thread)
		pthread_cond_wait(&notifier->filled, &notifier->lock);
	pthread_mutex_unlock(&notifier->lock);
	return 0;
}

void relay_notify(struct relay *relay, const struct record *record,
		  const uint8_t *payload)
{
	struct relay_notifier *notifier = &relay->notifier;
	struct notice *notice;

	if (record->share >= relay->count)
		return;
	notice = xmalloc(sizeof(*notice) + record->len);
	notice->record = *record;
	memcpy(notice->payload, payload, record->len);
	pthread_mutex_lock(&notifier->lock);
	if (notifier->queued_bytes > QUEUE_BYTES_MAX) {
		clear(notifier);
		notifier->drop = true;
	}
	list_append(&notifier->queue, &notice->link);
	notifier->queued_bytes += sizeof(*notice) + record->len;
	pthread_cond_signal(&notifier->filled);
	pthread_mutex_unlock(&notifier->lock);
}
