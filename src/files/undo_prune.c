/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_prune.c - old segments go, by age and size, a few files at a time
 *
 * A segment that goes is renamed first: from then on it is none.
 */
#include "files/undo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "files/server.h"
#include "undo/segment.h"

#define TICK_MS 20
#define FILES_A_TICK 200
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int add_size(void *ctx, int folder, const char *name)
{
	uint64_t *sum = ctx;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*sum += (uint64_t)st.st_blocks * 512;
	return 0;
}

/* As its maker wrote it down, or counted when that one died. */
static uint64_t size_of(struct undo *undo, unsigned number)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(32);
	AUTO_CLOSE int folder = -1, files = -1;
	struct error err = { 0 };
	uint64_t sum = 0;
	char name[16];
	char *end;

	segment_name(number, name);
	folder = openat(undo->folder, name, FOLDER_FLAGS);
	if (folder < 0)
		return 0;
	if (fileio_read(folder, SEGMENT_SIZE, &text, &err) == 0 &&
	    buffer_str(&text)) {
		end = strchr((char *)text.data, '\n');
		if (end)
			*end = '\0';
		if (text_to_u64((char *)text.data, 0, UINT64_MAX / 2, &sum) ==
		    0)
			return sum;
	}
	files = openat(folder, SEGMENT_FILES, FOLDER_FLAGS);
	if (files >= 0)
		segment_each_name(files, add_size, &sum);
	return sum;
}

static void take_away(struct undo *undo, unsigned number)
{
	char name[16], old[32];
	uint64_t bytes = size_of(undo, number);

	segment_name(number, name);
	text_format(old, sizeof(old), SEGMENT_OLD "%s", name);
	if (renameat(undo->folder, name, undo->folder, old) < 0)
		return;
	undo->older_bytes -=
		bytes < undo->older_bytes ? bytes : undo->older_bytes;
	if (undo->prune.on_fire && !undo->prune.loop)
		timer_start(undo->loop, &undo->prune, TICK_MS);
}

bool undo_prune_oldest(struct undo *undo)
{
	struct segments segments;
	struct error err = { 0 };
	bool found;

	if (undo->older_bytes == 0 ||
	    segments_load(undo->folder, &segments, &err) < 0)
		return false;
	found = segments.count && segments.list[0].number != undo->number;
	if (found)
		take_away(undo, segments.list[0].number);
	segments_release(&segments);
	return found;
}

void undo_prune_start(struct server *server)
{
	struct undo *undo = &server->undo;
	int64_t oldest = time(NULL) - SEGMENT_AGE_S;
	struct segments segments;
	struct error err = { 0 };

	undo->loop = server->loop;
	if (!undo->prune.on_fire)
		undo->prune = (struct timer){ .name = "old undo segments",
					      .on_fire = undo_prune_timer };
	if (segments_load(undo->folder, &segments, &err) < 0)
		return;
	undo->older_bytes = 0;
	for (size_t i = 0; i < segments.count; i++) {
		const struct segment *segment = &segments.list[i];

		if (segment->number == undo->number)
			continue;
		undo->older_bytes += size_of(undo, segment->number);
		if (segment->time < oldest ||
		    segments.count - i > SEGMENT_COUNT_MAX)
			take_away(undo, segment->number);
	}
	segments_release(&segments);
	while (undo->older_bytes + undo->saved_bytes > undo->limit_bytes &&
	       undo_prune_oldest(undo))
		;
	/* What a predecessor did not get to. */
	if (!undo->prune.loop)
		timer_start(undo->loop, &undo->prune, TICK_MS);
}

static int remove_some(void *ctx, int folder, const char *name)
{
	int *left = ctx;

	if (unlinkat(folder, name, 0) < 0)
		return -1;
	return --*left == 0;
}

static int open_old(void *ctx, int folder, const char *name)
{
	int *found = ctx;

	if (!text_starts(name, SEGMENT_OLD))
		return 0;
	*found = openat(folder, name, FOLDER_FLAGS);
	return *found >= 0;
}

static int remove_old(void *ctx, int folder, const char *name)
{
	if (text_starts(name, SEGMENT_OLD))
		unlinkat(folder, name, AT_REMOVEDIR);
	return 0;
}

/* false: nothing is left to remove. */
static bool remove_tick(struct undo *undo)
{
	AUTO_CLOSE int old = -1, files = -1;
	int left = FILES_A_TICK;

	if (segment_each_name(undo->folder, open_old, &old) < 0 || old < 0)
		return false;
	files = openat(old, SEGMENT_FILES, FOLDER_FLAGS);
	if (files >= 0 && segment_each_name(files, remove_some, &left) == 1)
		return true;
	unlinkat(old, SEGMENT_FILES, AT_REMOVEDIR);
	segment_each_name(old, remove_some, &left);
	return segment_each_name(undo->folder, remove_old, NULL) == 0 &&
	       left < FILES_A_TICK;
}

void undo_prune_timer(struct timer *timer)
{
	struct undo *undo = CONTAINER_OF(timer, struct undo, prune);

	if (remove_tick(undo))
		timer_start(undo->loop, timer, TICK_MS);
}
