/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu.h - the emulator's process; no other file knows a flag of QEMU's
 *
 * QEMU gets no path to anything of a sandbox: every file and every channel is
 * a descriptor with a fixed number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/loop.h"
#include "ipc/start_spec.h"
#include "supervisor/qemu_profile.h"

struct error;

/* Numbers in the child. */
enum qemu_fd {
	QEMU_FD_MONITOR = 10,
	QEMU_FD_CONTROL,  /* guest port bawn.control */
	QEMU_FD_CONSOLE,  /* serial console */
	QEMU_FD_FILES,    /* guest port bawn.files */
	QEMU_FD_NET,      /* guest port bawn.net */
	QEMU_FD_SLOTS,    /* memory of slots.h */
	QEMU_FD_TO_GUEST, /* memory of bulk.h */
	QEMU_FD_FROM_GUEST,
	QEMU_FD_BELL, /* tells of memory and bell of rings.h */
	QEMU_FD_RAM,
	QEMU_FD_STATE, /* device state to load */
	QEMU_FD_KERNEL,
	QEMU_FD_INITRD,
	QEMU_FD_KVM,
	QEMU_FD_DISK, /* and START_DISKS_MAX - 1 more */
	QEMU_FD_SPOOL = QEMU_FD_DISK + START_DISKS_MAX,
};

/*
 * NULL-terminated, malloc'd (qemu_argv_free()). Pure: the same spec gives the
 * same arguments. The machine is the same for all goals, so that a state
 * written by MAKE_WARM loads in RESTORE. Another machine needs another
 * START_MACHINE_VERSION.
 */
char **qemu_argv(const struct start_spec *spec);
void qemu_argv_free(char **argv);

/* What is open in this process, borrowed; -1 where the goal needs none. */
struct qemu_files {
	int ram, device_state, kernel, initramfs;
	int shim, kvm;
	/* QEMU's ends of the guest ports bawn.files and bawn.net */
	int files_port, net_port;
	int slots; /* memory that bawn-net writes */
	/* memory that bawn-files writes, and that it reads */
	int to_guest, from_guest;
	int bell; /* of rings.h: QEMU's end of the talk */
	int disks[START_DISKS_MAX];
	int spool;
};

struct qemu_ops {
	/* Reaped. status as of waitpid(). */
	void (*on_exit)(void *ctx, int status);
};

struct qemu {
	struct child child; /* pid 0 when it does not run */
	/* our ends, owned until taken */
	int monitor, control, console;
	char last_error[200]; /* last line of stderr, printable */

	struct qemu_profile profile; /* its confinement */

	/* private */
	int errors; /* stderr of QEMU, owned */
	const struct qemu_ops *ops;
	void *ctx;
	struct source exit_source, error_source;
	struct buffer error_line;
};

/* Stages the confinement; see qemu_profile.h for the order. */
int qemu_prepare(struct qemu *qemu, const struct start_spec *spec,
		 const struct qemu_files *files, struct error *err);
/* Starts QEMU, confined. The loop is not touched yet. */
int qemu_spawn(struct qemu *qemu, const struct start_spec *spec,
	       const struct qemu_files *files, struct error *err);
/* From now on stderr is read and the exit is noticed. */
int qemu_watch(struct qemu *qemu, struct loop *loop, const struct qemu_ops *ops,
	       void *ctx, struct error *err);
void qemu_kill(struct qemu *qemu);
bool qemu_runs(const struct qemu *qemu);
void qemu_release(struct qemu *qemu);
