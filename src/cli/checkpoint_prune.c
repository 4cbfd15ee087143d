/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_prune.c - checkpoints beyond what a sandbox keeps
 */
#include "cli/checkpoint_prune.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/checkpoint_keep.h"
#include "cli/disk_use.h"
#include "cli/store.h"

AUTO_DEFINE(dir, DIR *, closedir)

/* What is being made or removed is under the lock that we hold: nobody's. */
static void prune_leftovers(const struct sandbox *sandbox,
			    enum checkpoint_prune_mode mode,
			    checkpoint_dropped_fn *on_dropped, void *ctx)
{
	int fd = openat(sandbox->folder, CHECKPOINT_FOLDER,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO(dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct disk_use use;

		if (!text_starts(entry->d_name, ".tmp-") &&
		    !text_starts(entry->d_name, ".gone-"))
			continue;
		disk_use_of(fd, entry->d_name, &use);
		if (mode == CHECKPOINT_PRUNE &&
		    fileio_remove_tree(fd, entry->d_name, NULL) < 0)
			continue;
		on_dropped(ctx, sandbox, NULL, use.own);
	}
}

int checkpoint_prune(const struct sandbox *sandbox,
		     enum checkpoint_prune_mode mode,
		     checkpoint_dropped_fn *on_dropped, void *ctx,
		     struct error *err)
{
	AUTO_FREE struct checkpoint *list = NULL;
	AUTO_FREE bool *drop = NULL;
	struct checkpoint_keep keep;
	size_t count;

	prune_leftovers(sandbox, mode, on_dropped, ctx);
	if (checkpoint_list(sandbox, &list, &count, err) < 0)
		return -1;
	drop = xcalloc(count + 1, sizeof(*drop));
	checkpoint_keep_load(sandbox->folder, &keep);
	checkpoint_keep_choose(list, count, &keep, drop);
	for (size_t i = 0; i < count; i++) {
		if (!drop[i])
			continue;
		if (mode == CHECKPOINT_PRUNE &&
		    checkpoint_remove(sandbox, list[i].label, err) < 0)
			return -1;
		on_dropped(ctx, sandbox, list[i].label, list[i].freed);
	}
	return 0;
}
