/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlay.c - a shared folder that the guest writes over, on its own disk
 */
#include "guest/overlay.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* A change of the name took those away that concern files. */
static int raise_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, sets))
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].permitted;
	return (int)syscall(SYS_capset, &header, sets);
}

/*
 * What a program does above, overlayfs does once more below with the rights of
 * who mounted it. In the owner's name it may because it is the owner's, as the
 * first look tells; in root's only after a list of rights, the group and a
 * capability were looked at, at every step of every path. The capabilities
 * stay for what is somebody else's.
 */
static int mount_for(uid_t owner, const char *path, const char *options)
{
	int before, at_end = 0, result, problem;

	prctl(PR_GET_PDEATHSIG, &at_end);
	before = setfsuid(owner);
	if (raise_capabilities())
		setfsuid((uid_t)before);
	result = mount(SOURCE, path, "overlay",
		       MS_NOSUID | MS_NODEV | MS_NOATIME, options);
	problem = errno;
	setfsuid((uid_t)before);
	/* It is forgotten when the name changes. */
	prctl(PR_SET_PDEATHSIG, at_end);
	errno = problem;
	return result;
}

int overlay_mount(unsigned number, const char *path, struct error *err)
{
	char upper[OVERLAY_PATH_MAX], work[OVERLAY_PATH_MAX], options[320];
	struct stat st;

	overlay_upper(number, upper);
	overlay_work(number, work);
	text_format(options, sizeof(options),
		    "lowerdir=" OVERLAY_LOWER "/%u,upperdir=%s,workdir=%s,"
		    "index=off,metacopy=off,redirect_dir=off",
		    number, upper, work);
	if (stat(upper, &st))
		return error_set(err, errno, "%s", upper);
	if (mount_for(st.st_uid, path, options))
		return error_set(err, errno, "overlay on %s", path);
	return 0;
}
