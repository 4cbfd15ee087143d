/* SPDX-License-Identifier: Apache-2.0 */
/*
 * removal.c - --rm: the folder goes with the machine
 */
#include "launch/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/own.h"
#include "state/sandbox_removal.h"

enum {
	TRIES = 500,
	NAP_NS = 10000000,
};

void removal_of_sandbox(int folder, const char *path, const char *name)
{
	AUTO_CLOSE int sandboxes =
		openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct timespec nap = { .tv_nsec = NAP_NS };
	struct error err = { 0 };

	if (sandboxes < 0 || fileio_is_locked(folder, SANDBOX_OWNER_FILE) == 1)
		return;
	/* its command has perhaps removed it, and the next one made another */
	for (int i = 0; i < TRIES; i++) {
		if (sandbox_remove_this(sandboxes, name, folder, false, &err) ==
		    0)
			return;
		/* the supervisor is in the last steps of its end */
		if (err.code != EBUSY)
			break;
		nanosleep(&nap, NULL);
	}
	log_warn("%s: %s", path, err.text);
}
