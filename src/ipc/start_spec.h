/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_spec.h - what the CLI tells a new supervisor
 *
 * One JSON line on descriptor 3, which afterwards is the first control
 * connection. The supervisor opens every path before it confines itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum start_goal {
	START_RESTORE,   /* from ram + device_state: the instant start */
	START_COLD,      /* boot kernel + initramfs on the disk */
	START_MAKE_WARM, /* boot, prepare, write ram + device_state, quit */

	START_GOALS,
};

enum start_accel {
	START_ACCEL_TCG,
	START_ACCEL_KVM,

	START_ACCELS,
};

#define START_DISKS_MAX 16
#define START_SHARES_MAX 64
/*
 * Raised whenever the supervisor builds another machine from the same spec
 * (devices, firmware): part of the key of warm images. A unit test notices.
 */
#define START_MACHINE_VERSION 7

struct start_spec {
	enum start_goal goal;
	enum start_accel accel;
	char *name;         /* sandbox name; also the guest's hostname */
	char *id;           /* 32 hex digits: machine-id and SANDBOX_ID */
	char *folder;       /* the sandbox's own folder, absolute */
	char *qemu;         /* absolute path of the emulator */
	char *ram_shim;     /* absolute path of bawn-ramshim.so */
	char *ram;          /* RAM file (made for MAKE_WARM, NULL for COLD) */
	char *device_state; /* state file (made for MAKE_WARM, NULL for COLD) */
	char *kernel;       /* vmlinux; NULL for RESTORE */
	char *initramfs;    /* NULL for RESTORE */
	/* top overlay (qcow2, writable) first, then its backing files; the
	 * last one is the template (raw). Read-only but for the first. */
	char *disks[START_DISKS_MAX];
	unsigned disk_count;
	char *spool; /* COLD: a file that is a second disk, onto which a tool
			of ours in the guest writes; or NULL */
	unsigned cpus;
	unsigned memory_mib;
	char *marker;  /* 64 hex digits: what the restored channel waits for */
	char *machine; /* versioned machine type, e.g. "pc-q35-7.2" */
	char *cpu;     /* CPU model with flags, e.g. "max,la57=off" */
	char *append;  /* kernel command line; NULL for RESTORE */
	uid_t uid;     /* drop to these when started by root; 0 = stay */
	gid_t gid;
	unsigned boot_timeout_ms;
	bool remove_at_end; /* --rm: delete the folder when the VM is gone */
	bool agent_once;    /* power off when the main session has ended */
	char *files; /* JSON object for bawn-files: its "shares", …; or NULL */
	unsigned shares; /* how many these are; also told to the guest */
	char *net;   /* JSON object: the network's settings; NULL: there is none
		      */
	char *key;   /* 64 hex digits: of snapshots that this machine makes, as
			snapshot.h says; NULL for MAKE_WARM */
	char *facts; /* what the key is made of, for people; NULL likewise */
	char *sessions;  /* JSON array of a snapshot's sessions; or NULL */
	unsigned idle_s; /* suspended after so long without work; 0: never */
	bool consume;    /* RESTORE: machine/suspended is this one's, and over
			    as soon as the machine runs */
	char *authority; /* PEM of the sandbox's authority, for the guest; or
			    NULL */
	char *git;       /* configuration for the guest's git; or NULL */
};

/*
 * The text is malloc'd, one line without the newline; NULL when a text of spec
 * is not UTF-8, which JSON cannot carry.
 */
char *start_spec_encode(const struct start_spec *spec);
/*
 * Strict: unknown keys, missing keys and wrong types are errors, and so is a
 * spec without what its goal needs. After an error spec is empty.
 */
int start_spec_decode(const char *text, size_t len, struct start_spec *spec,
		      struct error *err);
void start_spec_release(struct start_spec *spec);
