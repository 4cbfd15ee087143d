/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_drop.c - the kernel forgets what it remembers of shares, on the
 * notifier's thread
 *
 * Only of these: what it has cached of the disk is as good as before, and to
 * read it again is what costs most after a machine was restored.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/overlay.h"
#include "guest/relay_internal.h"
#include "guest/sysfile.h"

/*
 * A file system that is set up anew with nothing changed forgets every name
 * that nobody uses, and with the last name of a file its node and its pages.
 */
static int forget_names(const char *path)
{
	AUTO_CLOSE int fs = (int)syscall(SYS_fspick, AT_FDCWD, path,
					 FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT);

	if (fs < 0)
		return -1;
	return (int)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL,
			    NULL, 0);
}

/* Of everything: the disk's, too. */
static void forget_all(void)
{
	if (sysfile_write(AT_FDCWD, "/proc/sys/vm/drop_caches", "3"))
		log_limited(LOG_LEVEL_WARN, "drop_caches: %s", strerror(errno));
}

void relay_drop(const struct relay *relay, unsigned number)
{
	const struct relay_share *share = &relay->shares[number];
	char lower[OVERLAY_PATH_MAX];

	if (!share->path || !share->initialised)
		return;
	if (forget_names(share->path)) {
		log_limited(LOG_LEVEL_DEBUG, "%s: %s", share->path,
			    strerror(errno));
		forget_all();
		return;
	}
	/*
	 * After the overlay what is beneath it. A folder that is about to get
	 * one (a fork's) has none yet: then it was the first.
	 */
	if (share->flags & RECORD_SHARE_OVERLAY) {
		text_format(lower, sizeof(lower), OVERLAY_LOWER "/%u", number);
		(void)forget_names(lower);
	}
}

void relay_drop_overlays(const struct relay *relay)
{
	for (unsigned i = 0; i < relay->count; i++) {
		if (relay->shares[i].flags & RECORD_SHARE_OVERLAY)
			relay_drop(relay, i);
	}
}
