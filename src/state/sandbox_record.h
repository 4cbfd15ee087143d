/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_record.h - what is on disk about one sandbox
 *
 * sandboxes/NAME/ is the CLI's and the launcher's:
 * sandboxes/NAME/sandbox.json  what was asked for (written by the CLI)
 * sandboxes/NAME/env.json      variables of `bawn env`
 * sandboxes/NAME/used          touched by each use
 * sandboxes/NAME/fresh         there until the first start: the disk is empty
 *                              and fits the warm image's memory
 * sandboxes/NAME/lock          held while a command changes the sandbox
 * sandboxes/NAME/owner         --rm: held by the command that made it
 * sandboxes/NAME/launch.sock, launch.lock  the launcher's
 * sandboxes/NAME/files.json    the shares of the running machine by number
 *                              (written by the CLI)
 * sandboxes/NAME/files/        what outlives a bawn-files
 * sandboxes/NAME/policy        its own rules of the network, policy.lock held
 *                              by whoever edits them
 * sandboxes/NAME/net/          what outlives a bawn-net: names, log.jsonl
 *
 * sandboxes/NAME/machine/ is all that a supervisor reaches by name: one that
 * was taken over must not say which folders are shared.
 * machine/state.json           what is (written by the supervisor)
 * machine/alive                flocked by the supervisor as long as it lives
 * machine/disk.qcow2, console.log, supervisor.log, control.sock
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "state/port_list.h"
#include "state/share_list.h"
#include "state/socket_list.h"

struct error;

/* 3: ports, sockets, ask; a record of version 2 has none of them. */
#define SANDBOX_RECORD_VERSION 3
#define SANDBOX_NAME_MAX 63

struct sandbox_record {
	char *name, *id, *agent;
	struct share_list shares; /* the first is the workspace */
	char *mode;               /* of its folders: direct, overlay, clone */
	bool cloned;              /* clone mode: the guest has its clone */
	bool with_changes; /* uncommitted work is still to be carried in */
	char **hide;       /* patterns of --hide; NULL-terminated */
	uint64_t quota_bytes, quota_inodes; /* of each share; 0: no limit */
	struct port_list ports;             /* published on the host */
	struct socket_list sockets;
	bool ask;             /* about connections that no rule matches */
	bool no_git_identity; /* --git-identity off */
	char *ssh_keys; /* which it may sign with (cli/ssh_keys.h); or NULL */
	char *template_name, *template_id; /* id: digest of the disk content */
	char *warm_key;                    /* NULL: made with --cold */
	char *kernel_key;                  /* folder in cache/kernels */
	char *machine, *cpu;               /* versioned names */
	char *accel;                       /* what was asked: auto, kvm, tcg */
	char *accel_used; /* what it last ran under; NULL before */
	char *isolation;  /* "microvm" */
	unsigned cpus, memory_mib;
	uint64_t disk_bytes;
	uid_t uid; /* 0: not started by root */
	bool remove_at_end;
	int64_t created, last_used; /* seconds since 1970 */
};

enum sandbox_status {
	SANDBOX_STATUS_RUNNING,
	SANDBOX_STATUS_STARTING,
	SANDBOX_STATUS_PAUSED,    /* e.g. host disk full; reason says so */
	SANDBOX_STATUS_SUSPENDED, /* memory kept (later) */
	SANDBOX_STATUS_STOPPED,
	SANDBOX_STATUS_FAILED, /* supervisor or QEMU died; reason says so */

	SANDBOX_STATUSES,
};

struct sandbox_state {
	enum sandbox_status status;
	char accel[8];    /* "kvm", "tcg" or "" */
	char reason[256]; /* printable; "" when there is nothing to say */
	pid_t supervisor_pid, qemu_pid;
	int64_t since;
};

const char *sandbox_status_name(enum sandbox_status status);

int sandbox_record_load(int folder_fd, struct sandbox_record *record,
			struct error *err);
int sandbox_record_save(int folder_fd, const struct sandbox_record *record,
			struct error *err);
/*
 * Used just now: the time of the file `used` counts where it is later than
 * last_used, so that an exec does not rewrite and sync the record.
 */
void sandbox_record_touch(int folder_fd);
void sandbox_record_release(struct sandbox_record *record);

/* Reads state.json and corrects it by whether `alive` is locked. */
int sandbox_state_load(int folder_fd, struct sandbox_state *state,
		       struct error *err);
/* The other way round: a supervisor knows nothing but machine/. */
int sandbox_state_save(int machine_fd, const struct sandbox_state *state,
		       struct error *err);

/* The rules of names: 0, or -1 with what is wrong. Words that name an agent are
 * no new sandbox's (request_check_name()); who is called so keeps its name. */
int sandbox_name_check(const char *name, struct error *err);
/*
 * "<agent>-<folder>"; with_hash adds "-<8 hex of sha256(path)>". Other
 * characters become "-"; over 63 the folder part is cut. malloc'd.
 */
char *sandbox_name_for(const char *agent, const char *path, bool with_hash);
