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
	int fd; /* … an open O_PATH or ordinary fd when path is NULL */
	unsigned access; /* enum isolate_access */
};

enum isolate_namespace {
	ISOLATE_NET = 1 << 0,
	ISOLATE_IPC = 1 << 1,
	ISOLATE_PID = 1 << 2, /* the next child is PID 1 of it */
	ISOLATE_MOUNT = 1 << 3,
	ISOLATE_UTS = 1 << 4,
};

/* As a value: the process that the filter is loaded in. */
#define ISOLATE_OWN_PID (~UINT64_C(0))

/* In an index: and the next row, of the same call, must hold too. */
#define ISOLATE_AND 0x100u

/* A system call that is allowed only when an argument has a known value. */
struct isolate_argument {
	const char *syscall;
	unsigned index;       /* 0..5, perhaps with ISOLATE_AND */
	uint64_t mask, value; /* allowed when (argument & mask) == value */
};

/* A call that is answered with an error where others would kill. */
struct isolate_refusal {
	struct isolate_argument when; /* a row of its own */
	int error;                    /* errno value */
};

/* Copied into the private root: for files that the user cannot walk to. */
struct isolate_copy {
	const char
		*path; /* absolute, in the private root; NULL ends the list */
	int fd;        /* borrowed, readable */
};

/*
 * What the C library needs wherever it runs, for lists of system calls: memory;
 * time without a vDSO; signals and abort(); locks; the end.
 */
#define ISOLATE_EVERY_PROCESS                                                  \
	"brk", "mmap", "munmap", "mremap", "madvise", "mprotect",              \
		"clock_gettime", "gettimeofday", "time", "rt_sigaction",       \
		"rt_sigprocmask", "rt_sigreturn", "getpid", "gettid", "futex", \
		"restart_syscall", "exit", "exit_group"

/*
 * "clone" in the list is allowed without any CLONE_NEW flag; clone3, whose
 * flags no filter can see, is always ENOSYS, and libc falls back to clone.
 */
struct isolate_profile {
	const char *name; /* for errors */
	unsigned namespaces;
	const struct isolate_path *paths; /* Landlock rules; NULL-path, fd -1
					     ends the list */
	bool may_connect;  /* by TCP; where Landlock knows, else no */
	bool private_root; /* bind `paths` into an empty root and pivot there */
	const char *const *syscalls; /* allow-list, NULL-terminated; others
					kill the process */
	const char *const
		*syscalls_enosys; /* answered ENOSYS instead of death
				     (libraries that probe); or NULL */
	/* more rules, a NULL syscall ends the list; several for the same
	 * system call are alternatives; or NULL */
	const struct isolate_argument *arguments;
	const struct isolate_copy *copies; /* or NULL */
	/* ends in one without a syscall; or NULL */
	const struct isolate_refusal *refusals;
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
 * Root only, and before isolate_early(): joins namespaces that need privilege
 * while we have it, then setgroups(0), setresgid, setresuid and checks that
 * there is no way back.
 */
int isolate_drop_to(uid_t uid, gid_t gid, unsigned namespaces,
		    struct error *err);
/*
 * Applies the profile to this process. Namespaces are entered through a user
 * namespace (own uid mapped to itself) unless already joined; a kernel that
 * refuses them is accepted if Landlock works. Fails when too little is left.
 * From then on it dies with its parent.
 */
int isolate_locked(const struct isolate_profile *profile, struct error *err);
/* The same with isolate_early(), and nobody of its user may look into it. */
int isolate_hidden(const struct isolate_profile *profile, struct error *err);
/*
 * The namespaces of the profile alone (without ISOLATE_MOUNT), for a process
 * that stages a child: a stage can be entered only from the user namespace
 * that it was made in, so our own comes first. Refusal is no error here.
 */
int isolate_namespaces(const struct isolate_profile *profile,
		       struct error *err);
/*
 * The two halves of isolate_locked(), for a process that must start something
 * in between: paths is namespaces, private root and Landlock; syscalls is
 * seccomp. Peers of a process in a user namespace show as uid 65534 in
 * SO_PEERCRED unless they have its own uid: after isolate_drop_to() ask for no
 * namespace but those that it joined, then no user namespace is entered.
 */
int isolate_paths(const struct isolate_profile *profile, struct error *err);
int isolate_syscalls(const struct isolate_profile *profile, struct error *err);

/*
 * Landlock forbids every later mount, to children too, and a Landlocked
 * process can look only into processes that were started beneath its own
 * domain. So the private root of a child is staged first, as namespaces that
 * nobody is in yet; then this process locks itself; then the child enters.
 */
struct isolate_stage {
	int user_fd, mount_fd; /* owned; -1 when the kernel refused them */
	int root_fd;           /* owned, O_PATH: the private root; or -1 */
};

#define ISOLATE_STAGE_NONE ((struct isolate_stage){ -1, -1, -1 })

/* A kernel that refuses namespaces is not an error: the stage stays empty. */
int isolate_stage(const struct isolate_profile *profile,
		  struct isolate_stage *stage, struct error *err);
void isolate_stage_release(struct isolate_stage *stage);

struct child;
struct child_spec;

/*
 * child_spawn() with the whole profile on the child, which must contain
 * execve. The child is PID 1 of its own PID namespace where that is allowed;
 * child->pid is its number out here. It dies with the calling thread. Its
 * capability sets are empty, it is dumpable (until exec). spec->prepare runs
 * in the namespaces and before everything irrevocable. stage may be NULL: then
 * a private root is made now, unless this process is Landlocked already.
 */
int isolate_spawn(const struct isolate_profile *profile,
		  const struct isolate_stage *stage,
		  const struct child_spec *spec, struct child *child,
		  struct error *err);
