/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.c - the two steps, and the ladder that decides what is enough
 */
#include "isolate/isolate_internal.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

/* Set by isolate_drop_to(): these need no user namespace any more. */
static unsigned joined;

static void drop_bounding_set(void)
{
	for (int cap = 0; cap < 64; cap++) {
		/* Without CAP_SETPCAP it stays, and no_new_privs covers it. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return;
	}
}

static int drop_capabilities(struct error *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	/* So that uid 0 gets nothing back by exec; fails like the above. */
	prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
	drop_bounding_set();
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return error_set(err, errno, "ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return error_set(err, errno, "capabilities");
	return 0;
}

int isolate_early(unsigned flags, struct error *err)
{
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "no_new_privs");
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return error_set(err, errno, "core limit");
	if (drop_capabilities(err) < 0)
		return -1;
	if ((flags & ISOLATE_UNDUMPABLE) &&
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_set(err, errno, "dumpable");
	return 0;
}

static int check_no_way_back(uid_t uid, gid_t gid, struct error *err)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (getresuid(&ruid, &euid, &suid) < 0 || ruid != uid || euid != uid ||
	    suid != uid)
		return error_set(err, 0, "uid is not %u everywhere", uid);
	if (getresgid(&rgid, &egid, &sgid) < 0 || rgid != gid || egid != gid ||
	    sgid != gid || getgroups(0, NULL) != 0)
		return error_set(err, 0, "gid is not %u everywhere", gid);
	if (setresuid((uid_t)-1, 0, (uid_t)-1) == 0 ||
	    setresgid((gid_t)-1, 0, (gid_t)-1) == 0)
		return error_set(err, 0, "root can be had back");
	return 0;
}

int isolate_drop_to(uid_t uid, gid_t gid, unsigned namespaces,
		    struct error *err)
{
	if (uid == 0 || gid == 0)
		return error_set(err, 0, "cannot drop to root");
	/* Refused in containers: then isolate_locked() tries its own way. */
	if (namespaces && unshare(namespaces_flags(namespaces)) == 0)
		joined |= namespaces;
	/* As the other uid we could not any more. */
	drop_bounding_set();
	if (setgroups(0, NULL) < 0)
		return error_set(err, errno, "setgroups");
	if (setresgid(gid, gid, gid) < 0)
		return error_set(err, errno, "gid %u", gid);
	if (setresuid(uid, uid, uid) < 0)
		return error_set(err, errno, "uid %u", uid);
	/*
	 * The change of uid took the right to our own /proc files, which
	 * namespaces need; isolate_early() takes it again where asked.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "dumpable");
	return check_no_way_back(uid, gid, err);
}

const char *isolate_rung(const struct isolate_report *report)
{
	if (!report->seccomp)
		return NULL;
	if (report->user_namespaces && report->landlock)
		return "namespaces+Landlock+seccomp";
	if (report->landlock)
		return "Landlock+seccomp";
	if (report->user_namespaces)
		return "namespaces+private root+seccomp";
	return NULL;
}

int isolate_check_rung(const struct isolate_profile *profile,
		       const struct isolate_layers *layers,
		       const struct error *why, struct error *err)
{
	if (layers->landlock || (layers->namespaces && layers->private_root))
		return 0;
	return error_set(err, 0,
			 "%s: this kernel gives neither Landlock nor a private "
			 "root (%s); see `bawn doctor`",
			 profile->name, why->text);
}

int isolate_landlock(const struct isolate_profile *profile,
		     struct isolate_layers *layers, struct error *why,
		     struct error *err)
{
	if (landlock_restrict(profile, err) == 0)
		layers->landlock = true;
	else if (landlock_abi() > 0)
		return -1;
	return isolate_check_rung(profile, layers, why, err);
}

int isolate_namespaces(const struct isolate_profile *profile, struct error *err)
{
	struct isolate_profile alone = { .name = profile->name };
	struct isolate_layers layers = { 0 };
	struct error why = { 0 };

	alone.namespaces =
		profile->namespaces & ~joined & ~(unsigned)ISOLATE_MOUNT;
	if (namespaces_try(&alone, alone.namespaces, &layers, &why) < 0)
		return 0;
	joined |= alone.namespaces;
	return drop_capabilities(err);
}

int isolate_paths(const struct isolate_profile *profile, struct error *err)
{
	struct isolate_layers layers = { 0 };
	struct error why = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "no_new_privs");
	namespaces_try(profile, profile->namespaces & ~joined, &layers, &why);
	/* What the user namespace gave has done its work. */
	if (drop_capabilities(err) < 0)
		return error_prefix(err, "%s", profile->name);
	if (isolate_landlock(profile, &layers, &why, err) < 0)
		return error_prefix(err, "%s", profile->name);
	return 0;
}

int isolate_syscalls(const struct isolate_profile *profile, struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "no_new_privs");
	if (seccomp_filter_load(profile, err) < 0)
		return error_prefix(err, "%s", profile->name);
	return 0;
}

static int lock(const struct isolate_profile *profile, struct error *err)
{
	/*
	 * The kernel forgot it with a change of user or a new namespace, and
	 * who waits for a slow peer does not look whether its parent lives.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return isolate_syscalls(profile, err);
}

int isolate_locked(const struct isolate_profile *profile, struct error *err)
{
	return isolate_paths(profile, err) < 0 ? -1 : lock(profile, err);
}

int isolate_hidden(const struct isolate_profile *profile, struct error *err)
{
	/* Undumpable only then: a user namespace needs our /proc files. */
	if (isolate_early(0, err) < 0 || isolate_paths(profile, err) < 0 ||
	    isolate_early(ISOLATE_UNDUMPABLE, err) < 0)
		return -1;
	return lock(profile, err);
}
