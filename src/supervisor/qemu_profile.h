/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu_profile.h - what QEMU may do: run the guest on its descriptors
 *
 * Order in the supervisor, so that nothing is left out and so that the
 * supervisor may later read QEMU's memory (Landlock lets a process look only
 * into domains beneath its own):
 *   1. qemu_profile_open()   stages QEMU's private root; mounts still work
 *   2. isolate_paths()       with qemu_profile.paths among its own paths, since
 *                            a child never gets more than its parent has
 *   3. qemu_profile_spawn()  QEMU, under everything
 *   4. isolate_syscalls()    the supervisor's own list, without execve
 */
#pragma once

#include <stddef.h>

#include "ipc/start_spec.h"
#include "isolate/isolate.h"

struct child;
struct child_fd;
struct error;

#define QEMU_PROFILE_PATHS 24

struct qemu_profile {
	/* ends with a NULL path and fd -1, as isolate_profile.paths does */
	struct isolate_path paths[QEMU_PROFILE_PATHS];

	/* private */
	const char *qemu;
	int shim_fd;
	int null_fd; /* owned: /dev/null, which Landlock may close to us */
	enum start_accel accel;
	struct isolate_stage stage; /* owned */
};

struct qemu_profile_args {
	const char *const *argv;    /* argv[0] is replaced by the full path */
	const struct child_fd *fds; /* 2 is where QEMU complains; 0 to 2 that
				       are not listed are empty */
	size_t fd_count;
	/*
	 * Which of those are files that QEMU opens by name, as numbers in the
	 * child: "ram=13,kernel=15" become /bawn/ram and /bawn/kernel, and
	 * "kvm=20" becomes /dev/kvm. NULL: none.
	 */
	const char *shim_files;
};

/*
 * qemu and shim_fd (bawn-ramshim.so, open for reading) are borrowed until
 * release. The caller has its final uid. It is moved into network and IPC
 * namespaces of its own where the kernel allows it: a stage can be entered only
 * from the user namespace that it was made in, so after this call ask for no
 * other namespace.
 */
int qemu_profile_open(struct qemu_profile *profile, const char *qemu,
		      int shim_fd, enum start_accel accel, struct error *err);
/* May be called more than once. child->pid is the number out here. */
int qemu_profile_spawn(const struct qemu_profile *profile,
		       const struct qemu_profile_args *args,
		       struct child *child, struct error *err);
void qemu_profile_release(struct qemu_profile *profile);
