/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlay.c - a shared folder that the guest writes over, on its own disk
 */
#include "guest/overlay.h"

#include <errno.h>
#include <sys/mount.h>

#include "base/error.h"
#include "base/text.h"

#define SOURCE "bawn"

void overlay_upper(unsigned number, char path[OVERLAY_PATH_MAX])
{
	text_format(path, OVERLAY_PATH_MAX, OVERLAY_FOLDER "/%u/upper", number);
}

void overlay_work(unsigned number, char path[OVERLAY_PATH_MAX])
{
	text_format(path, OVERLAY_PATH_MAX, OVERLAY_FOLDER "/%u/work", number);
}

int overlay_mount(unsigned number, const char *path, struct error *err)
{
	char upper[OVERLAY_PATH_MAX], work[OVERLAY_PATH_MAX], options[320];

	overlay_upper(number, upper);
	overlay_work(number, work);
	text_format(options, sizeof(options),
		    "lowerdir=" OVERLAY_LOWER "/%u,upperdir=%s,workdir=%s,"
		    "index=off,metacopy=off,redirect_dir=off",
		    number, upper, work);
	if (mount(SOURCE, path, "overlay", MS_NOSUID | MS_NODEV, options))
		return error_set(err, errno, "overlay on %s", path);
	return 0;
}
