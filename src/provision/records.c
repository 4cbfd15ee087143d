/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.c - a walk over all sandboxes of this user
 */
#include "provision/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "state/paths.h"
#include "state/sandbox_record.h"

static void visit(int parent, const char *name, records_fn *each, void *ctx)
{
	AUTO_CLOSE int folder = openat(
		parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct sandbox_record record;
	struct error err = { 0 };

	if (folder < 0)
		return;
	if (sandbox_record_load(folder, &record, &err) < 0) {
		/* without a record it is being made or removed */
		if (err.code != ENOENT)
			each(ctx, NULL, folder);
		return;
	}
	each(ctx, &record, folder);
	sandbox_record_release(&record);
}

int records_each(records_fn *each, void *ctx, struct error *err)
{
	int fd = paths_open(PATHS_STATE, "sandboxes", err);
	struct dirent *entry;
	DIR *folder;

	if (fd < 0)
		return -1;
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return error_set(err, errno, "sandboxes");
	}
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] != '.')
			visit(fd, entry->d_name, each, ctx);
	}
	closedir(folder);
	return 0;
}
