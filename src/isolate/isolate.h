/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isolate.h - the two-step self-sandbox, and the confinement of a child
 *
 * Early: no_new_privs, no capabilities, no core dumps, dumpable as asked.
 * Locked: namespaces, private root, Landlock, seccomp - as far as this kernel
 * allows, never less than one rung of the ladder:
 *   namespaces+Landlock+seccomp; Landlock+seccomp;
 *   namespaces+private root+seccomp; otherwise refuse.
 * What the kernel allows is found out by doing it (isolate_probe()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum isolate_access {
	ISOLATE_READ = 1 << 0,
	ISOLATE_WRITE = 1 << 1, /* read, write, create, remove beneath */
	ISOLATE_EXECUTE = 1 << 2,
};

struct isolate_path {
	const char *path; /* absolute; a missing one is skipped; or … */
	int fd;           /* … an open O_PATH or ordinary fd when path is NULL */
	unsigned access;  /* enum isolate_access */
};

enum isolate_namespace {
	ISOLATE_NET = 1 << 0,
	ISOLATE_IPC = 1 << 1,
	ISOLATE_PID = 1 << 2, /* the next child is PID 1 of it */
	ISOLATE_MOUNT = 1 << 3,
	ISOLATE_UTS = 1 << 4,
};

struct isolate_profile {
	const char *name; /* for errors */
	unsigned namespaces;
	const struct isolate_path *paths; /* Landlock rules; NULL-path, fd -1
					     ends the list */
	bool private_root; /* bind `paths` into an empty root and pivot there */
	const char *const *syscalls; /* allow-list, NULL-terminated; others
					kill the process */
	const char *const *syscalls_enosys; /* answered ENOSYS instead of death
					       (libraries that probe); or NULL */
};

/* What could be applied here; names of layers for `doctor`. */
struct isolate_report {
	bool user_namespaces;
	bool landlock;
	int landlock_abi;
	bool seccomp;
	char why_no_namespaces[200];
	char why_no_landlock[200];
};

/* Tries each layer in a short-lived child. */
void isolate_probe(struct isolate_report *report);
/* "namespaces+Landlock+seccomp" and so on; NULL when too little is left. */
const char *isolate_rung(const struct isolate_report *report);

enum isolate_early_flags {
	ISOLATE_UNDUMPABLE = 1 << 0, /* PR_SET_DUMPABLE 0; never for QEMU */
};

/* no_new_privs, RLIMIT_CORE 0, drop every capability and bounding set. */
int isolate_early(unsigned flags, struct error *err);
/*
 * Root only: joins namespaces that need privilege while we have it, then
 * setgroups(0), setresgid, setresuid and checks that there is no way back.
 */
int isolate_drop_to(uid_t uid, gid_t gid, unsigned namespaces,
		    struct error *err);
/*
 * Applies the profile to this process. Namespaces are entered through a user
 * namespace (own uid mapped to itself) unless already joined; a kernel that
 * refuses them is accepted if Landlock works. Fails when too little is left.
 */
int isolate_locked(const struct isolate_profile *profile, struct error *err);
