/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespaces.c - user, network, IPC, UTS, PID and mount namespaces
 *
 * Everything goes through a user namespace in which this uid is mapped to
 * itself and to nothing else; the capabilities that come with it are dropped
 * by isolate_early() as soon as the mounts are done.
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

int namespaces_flags(unsigned namespaces)
{
	int flags = 0;

	if (namespaces & ISOLATE_NET)
		flags |= CLONE_NEWNET;
	if (namespaces & ISOLATE_IPC)
		flags |= CLONE_NEWIPC;
	if (namespaces & ISOLATE_PID)
		flags |= CLONE_NEWPID;
	if (namespaces & ISOLATE_MOUNT)
		flags |= CLONE_NEWNS;
	if (namespaces & ISOLATE_UTS)
		flags |= CLONE_NEWUTS;
	return flags;
}

static int write_file(const char *path, const char *text, struct error *err)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return error_set(err, errno, "%s", path);
	return 0;
}

static int map_ids(uid_t uid, gid_t gid, struct error *err)
{
	char text[64];

	/* Refused on kernels that never knew it, where it is not needed. */
	if (write_file("/proc/self/setgroups", "deny", err) < 0 &&
	    access("/proc/self/setgroups", F_OK) == 0)
		return -1;
	text_format(text, sizeof(text), "%u %u 1", gid, gid);
	if (write_file("/proc/self/gid_map", text, err) < 0)
		return -1;
	text_format(text, sizeof(text), "%u %u 1", uid, uid);
	return write_file("/proc/self/uid_map", text, err);
}

/* Nothing that is mounted outside shall appear inside later, nor inversely. */
static int detach_mounts(struct error *err)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set(err, errno, "private mounts");
	return 0;
}

int namespaces_enter(const struct isolate_profile *profile, unsigned wanted,
		     struct isolate_layers *layers, struct error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int flags;

	if (profile->private_root)
		wanted |= ISOLATE_MOUNT;
	if (!wanted) {
		layers->namespaces = true;
		return 0;
	}
	flags = namespaces_flags(wanted);
	if (unshare(CLONE_NEWUSER | flags) < 0)
		return error_set(err, errno, "user namespace");
	if (map_ids(uid, gid, err) < 0)
		return -1;
	layers->namespaces = true;
	if (!(wanted & ISOLATE_MOUNT))
		return 0;
	if (detach_mounts(err) < 0)
		return -1;
	if (!profile->private_root)
		return 0;
	if (private_root_enter(profile, err) < 0)
		return error_prefix(err, "private root");
	layers->private_root = true;
	return 0;
}

static int enter_trial(const struct isolate_profile *profile, struct error *err)
{
	struct isolate_layers layers = { 0 };

	return namespaces_enter(profile, profile->namespaces, &layers, err);
}

int namespaces_try(const struct isolate_profile *profile, unsigned wanted,
		   struct isolate_layers *layers, struct error *err)
{
	struct isolate_profile reduced = *profile;

	reduced.namespaces = wanted;
	if (!wanted && !profile->private_root)
		return namespaces_enter(&reduced, wanted, layers, err);
	if (isolate_trial(enter_trial, &reduced, err) == 0)
		return namespaces_enter(&reduced, wanted, layers, err);
	if (!profile->private_root)
		return -1;
	/* A Landlocked process has no mounts, but may have the rest. */
	reduced.private_root = false;
	reduced.namespaces &= ~(unsigned)ISOLATE_MOUNT;
	if (isolate_trial(enter_trial, &reduced, err) < 0)
		return -1;
	return namespaces_enter(&reduced, reduced.namespaces, layers, err);
}

int namespaces_join(const struct isolate_profile *profile,
		    const struct isolate_stage *stage,
		    struct isolate_layers *layers, struct error *err)
{
	unsigned others = profile->namespaces & ~(unsigned)ISOLATE_MOUNT;

	if (setns(stage->user_fd, CLONE_NEWUSER) < 0)
		return error_set(err, errno, "staged user namespace");
	if (setns(stage->mount_fd, CLONE_NEWNS) < 0)
		return error_set(err, errno, "staged mount namespace");
	if (chdir("/") < 0)
		return error_set(err, errno, "/");
	if (unshare(namespaces_flags(others)) < 0)
		return error_set(err, errno, "namespaces");
	layers->namespaces = true;
	layers->private_root = stage->root_fd >= 0;
	return 0;
}
