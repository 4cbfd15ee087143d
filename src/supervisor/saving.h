/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving.h - a snapshot of the machine that runs here
 *
 * For `stop`, which keeps the memory and ends QEMU, and for `checkpoint`, after
 * which the machine goes on. The order matters: the guest's programs stand, the
 * relays have nothing under way (PREPARE), nobody writes to a port any more
 * (freeze), the vCPUs stand, the devices' state is written, QEMU's own pages
 * are copied. Then a checkpoint's machine goes on, and the rest is written
 * beside it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "supervisor/ram_image.h"
#include "supervisor/saving_copy.h"

struct error;
struct qmp_reply;
struct sandbox;

enum saving_kind {
	SAVING_SUSPEND,    /* into machine/suspended; QEMU ends */
	SAVING_CHECKPOINT, /* into machine/checkpoint, where an empty
			      disk.qcow2 lies */
	SAVING_DISK,       /* of a checkpoint the disk alone: programs stand
			      until its copy has begun */
	/* The same, and nobody works in the machine: how long it stands does
	   not matter, and copying ahead would only come on top. */
	SAVING_CHECKPOINT_AT_ONCE,
};

enum saving_step {
	SAVING_NOT,     /* nothing is being saved */
	SAVING_AHEAD,   /* memory is copied once while the machine runs */
	SAVING_PREPARE, /* until PREPARED; `timer` counts */
	SAVING_FREEZE,  /* until the launcher says that helpers stand */
	SAVING_SETTLE,  /* until QEMU has taken what lay in its sockets */
	SAVING_MACHINE, /* the vCPUs stand, devices and pages are written */
	SAVING_REST,    /* a checkpoint's machine runs again; the file's own
			   pages and the disk are copied */
	SAVING_QUIT,    /* suspended: all is written, QEMU ends */
	SAVING_ABSENT,  /* suspended: QEMU has ended, manifest is there */
};

struct saving {
	enum saving_step step;
	enum saving_kind kind;

	/* private */
	int folder, ram, state, disk; /* owned; -1: none */
	struct ram_image image;
	bool stopped;      /* the vCPUs */
	bool disk_done;    /* the copy of a checkpoint's disk */
	bool ram_done;     /* … of its memory */
	bool or_power_off; /* what cannot be saved ends all the same */
	struct timer timer;
	struct saving_copy copy;
	double since_ms, pause_ms;
};

void saving_init(struct sandbox *sandbox);
void saving_release(struct sandbox *sandbox);
/* Answered by requests_saved(), or by the end of the machine. */
int saving_begin(struct sandbox *sandbox, enum saving_kind kind,
		 struct error *err);
/* At the host's end: keeps the memory, and if it cannot, powers off. */
void saving_or_power_off(struct sandbox *sandbox);
/* The sandbox is to end in another way. */
void saving_give_up(struct sandbox *sandbox);
/* From PREPARE until it goes on: nothing may be sent to the guest. */
bool saving_is_quiet(const struct sandbox *sandbox);
bool saving_is_busy(const struct sandbox *sandbox);

void saving_on_prepared(struct sandbox *sandbox);
void saving_on_frozen(struct sandbox *sandbox);
/* BLOCK_JOB_COMPLETED */
void saving_on_job(struct sandbox *sandbox, const struct qmp_reply *event);
/* QEMU was reaped; true: its memory is kept. */
bool saving_on_gone(struct sandbox *sandbox);
