/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removal.c - end a sandbox and delete it
 */
#include "cli/removal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/clone.h"
#include "cli/halt.h"
#include "cli/proxy_file.h"
#include "cli/store.h"
#include "state/events.h"

#define ATTEMPTS 3

int removal_of(const struct store *store, const char *name, struct error *err)
{
	AUTO_CLOSE int folder =
		openat(store->folder, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct sandbox_record record = { 0 };
	AUTO_CLOSE int events = -1;
	int result = -1;

	if (folder < 0 && errno == ENOENT)
		return 0;
	if (folder < 0)
		return error_set(err, errno, "sandbox %s", name);
	if (sandbox_record_load(folder, &record, NULL) == 0)
		clone_forget(&record, folder);
	sandbox_record_release(&record);
	/* another command may start it between the two: EBUSY */
	for (int i = 0; i < ATTEMPTS && result < 0; i++) {
		if (halt_folder(folder, 0, err) < 0)
			return error_prefix(err, "sandbox %s", name);
		result = sandbox_remove_this(store->folder, name, folder, true,
					     err);
		if (result < 0 && err->code != EBUSY)
			return -1;
	}
	if (result < 0)
		return -1;
	proxy_file_remove(name);
	events = events_open(NULL);
	events_write(events, "removed", name, NULL);
	return 0;
}
