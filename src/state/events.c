/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - events.jsonl: what happened, one JSON object a line
 */
#include "state/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "state/paths.h"

#define EVENTS_FILE "events.jsonl"
#define EVENTS_OLD "events.jsonl.old"
#define EVENTS_MAX (1024 * 1024)
/* Written by one that never opens it again: then nothing is added. */
#define EVENTS_FULL (16 * EVENTS_MAX)

int events_open(struct error *err)
{
	AUTO_CLOSE int folder = paths_open(PATHS_STATE, NULL, err);
	struct stat st;
	int fd;

	if (folder < 0)
		return -1;
	if (fstatat(folder, EVENTS_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > EVENTS_MAX)
		renameat(folder, EVENTS_FILE, folder, EVENTS_OLD);
	fd = openat(folder, EVENTS_FILE,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	return fd >= 0 ? fd : error_set(err, errno, EVENTS_FILE);
}

static void now_text(char *dst, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	len = strftime(dst, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(dst + len, size - len, ".%03ldZ", now.tv_nsec / 1000000);
}

void events_write(int fd, const char *event, const char *sandbox,
		  json_t *details)
{
	json_t *line = json_object();
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *with_end = NULL;
	struct stat st;
	char time[48];

	now_text(time, sizeof(time));
	json_object_set_new(line, "time", json_string(time));
	json_object_set_new(line, "event", json_string(event));
	if (sandbox)
		json_object_set_new(line, "sandbox", json_string(sandbox));
	if (details)
		json_object_update_missing(line, details);
	json_decref(details);
	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	if (!text || fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > EVENTS_FULL)
		return;
	/* one write: a reader never sees two writers' lines mixed */
	with_end = xasprintf("%s\n", text);
	if (write(fd, with_end, strlen(with_end)) < 0)
		log_warn("writing an event: %s", strerror(errno));
}
