/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - what bawn-ssh gives up
 *
 * It has its descriptors and needs nothing else: no path, no network, no other
 * process.
 */
#include "ssh/profile.h"

#include <stddef.h>
#include <unistd.h>

#include "base/error.h"
#include "isolate/isolate.h"

static const char *const syscalls[] = {
	/* both sides; log lines */
	"read", "write", "writev", ISOLATE_EVERY_PROCESS, NULL,
};

static const struct isolate_argument arguments[] = {
	/* abort() */
	{ "tgkill", 0, 0xffffffff, ISOLATE_OWN_PID },
	{ NULL, 0, 0, 0 },
};

int profile_enter(uid_t uid, struct error *err)
{
	static const struct isolate_path paths[] = { { NULL, -1, 0 } };
	struct isolate_profile profile = {
		.name = "bawn-ssh",
		.namespaces = ISOLATE_NET | ISOLATE_IPC | ISOLATE_UTS,
		.paths = paths,
		.syscalls = syscalls,
		.arguments = arguments,
	};

	if (geteuid() == 0 && uid) {
		if (isolate_drop_to(uid, uid, profile.namespaces, err) < 0)
			return -1;
		profile.namespaces = 0;
	}
	return isolate_hidden(&profile, err);
}
