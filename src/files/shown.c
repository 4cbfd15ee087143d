/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.c - the list of shown files (guard.h) that a guest changed
 */
#include "files/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/text.h"
#include "files/share.h"

#define FILE_NAME "shown"

/* False: it was there. */
static bool remember(struct shown *shown, const char *line)
{
	uint64_t hash = text_hash(line) | 1; /* 0 is a free slot */
	size_t at = (hash >> 1) % SHOWN_SLOTS;

	while (shown->seen[at] && shown->seen[at] != hash)
		at = (at + 1) % SHOWN_SLOTS;
	if (shown->seen[at])
		return false;
	shown->seen[at] = hash;
	shown->count++;
	return true;
}

/* What was noted before this process. */
static void load(struct shown *shown)
{
	char line[PATH_MAX], byte[4096];
	size_t len = 0;
	ssize_t n;

	while ((n = read(shown->fd, byte, sizeof(byte))) > 0) {
		for (ssize_t i = 0; i < n && shown->count < SHOWN_MAX; i++) {
			if (len < sizeof(line))
				line[len++] = byte[i];
			if (byte[i])
				continue;
			line[len - 1] = '\0';
			remember(shown, line);
			len = 0;
		}
	}
}

void shown_init(struct shown *shown, int state_fd)
{
	shown->fd = -1;
	shown->state_fd = state_fd;
}

static int begin(struct shown *shown)
{
	if (shown->fd >= 0)
		return 0;
	if (shown->state_fd < 0)
		return -1;
	shown->fd = openat(shown->state_fd, FILE_NAME,
			   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			   0600);
	if (shown->fd < 0) {
		log_limited(LOG_LEVEL_WARN, "list of shown files: errno %d",
			    errno);
		return -1;
	}
	load(shown);
	return 0;
}

void shown_note(struct shown *shown, const struct share *share,
		const char *path)
{
	char line[PATH_MAX];
	struct error err;

	if (begin(shown) < 0 || shown->count >= SHOWN_MAX)
		return;
	if (text_format(line, sizeof(line), "%s/%s",
			share->shadow.root + strlen("shadow/"), path) < 0 ||
	    !remember(shown, line))
		return;
	if (fileio_write_all(shown->fd, line, strlen(line) + 1, &err) < 0)
		log_limited(LOG_LEVEL_WARN, "list of shown files: %s",
			    err.text);
}

void shown_release(struct shown *shown)
{
	if (shown->fd >= 0)
		close(shown->fd);
}
