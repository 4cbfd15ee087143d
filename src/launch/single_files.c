/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single_files.c - shares that are one file, which the host may replace
 */
#include "launch/single_files.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"

enum {
	SETTLE_MS = 100,  /* an editor may move files around */
	BETWEEN_MS = 700, /* a guest may be the one who replaces it */
	EVENT_BYTES = 4096,
};

static void on_events(struct source *source, uint32_t events);
static void on_settle(struct timer *timer);

void single_files_init(struct single_files *single, struct loop *loop)
{
	*single = (struct single_files){
		.loop = loop,
		.events = { .name = "single files",
			    .fd = -1,
			    .events = EPOLLIN,
			    .on_event = on_events },
		.settle = { .name = "single files", .on_fire = on_settle },
	};
}

static void forget(struct single_files *single)
{
	loop_del(&single->events);
	if (single->events.fd >= 0)
		close(single->events.fd);
	single->events.fd = -1;
	while (single->count > 0)
		free(single->files[--single->count].path);
}

static int open_events(struct single_files *single)
{
	struct error err = { 0 };

	if (single->events.fd >= 0)
		return 0;
	single->events.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (single->events.fd >= 0 &&
	    loop_add(single->loop, &single->events, &err) == 0)
		return 0;
	log_warn("files that are shared by themselves are not followed when "
		 "they are replaced");
	return -1;
}

/* The watch first: what is replaced after the look is told. */
static void add(struct single_files *single, const char *path)
{
	AUTO_FREE char *copy = xstrdup(path);
	struct single_file *file = &single->files[single->count];
	struct stat st;

	if (single->count == SINGLE_FILES_MAX || lstat(path, &st) < 0 ||
	    !S_ISREG(st.st_mode) || open_events(single) < 0)
		return;
	if (inotify_add_watch(single->events.fd, dirname(copy),
			      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0 ||
	    lstat(path, &st) < 0)
		return;
	*file = (struct single_file){ xstrdup(path), st.st_dev, st.st_ino };
	single->count++;
}

void single_files_look(struct single_files *single, const json_t *settings)
{
	json_t *share;
	size_t i;

	forget(single);
	json_array_foreach(json_object_get(settings, "shares"), i, share)
	{
		const char *path =
			json_string_value(json_object_get(share, "path"));

		if (path && !json_is_true(json_object_get(share, "gone")))
			add(single, path);
	}
}

static void wait_a_little(struct single_files *single)
{
	uint64_t since = loop_now_ms() - single->last_ms;

	timer_start(single->loop, &single->settle,
		    since < BETWEEN_MS ? BETWEEN_MS - since + SETTLE_MS
				       : SETTLE_MS);
}

static void on_events(struct source *source, uint32_t events)
{
	struct single_files *single =
		CONTAINER_OF(source, struct single_files, events);
	char bytes[EVENT_BYTES];

	/* Whose name it was is looked at once the folder is quiet. */
	while (read(source->fd, bytes, sizeof(bytes)) > 0)
		;
	if (!single->settle.loop)
		wait_a_little(single);
}

static bool some_replaced(const struct single_files *single)
{
	for (size_t i = 0; i < single->count; i++) {
		const struct single_file *file = &single->files[i];
		struct stat st;

		if (lstat(file->path, &st) == 0 && S_ISREG(st.st_mode) &&
		    (st.st_dev != file->dev || st.st_ino != file->ino))
			return true;
	}
	return false;
}

static void on_settle(struct timer *timer)
{
	struct single_files *single =
		CONTAINER_OF(timer, struct single_files, settle);

	if (!some_replaced(single))
		return;
	single->last_ms = loop_now_ms();
	if (!single->on_replaced(single->ctx))
		wait_a_little(single);
}

void single_files_release(struct single_files *single)
{
	timer_stop(&single->settle);
	forget(single);
}
