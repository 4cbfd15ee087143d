/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - the life of one sandbox
 *
 * One supervisor owns one sandbox. Requests arrive from the CLI, facts arrive
 * from QEMU and the guest; only sandbox.c changes the state, and with it
 * state.json and the event log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "ipc/start_spec.h"
#include "state/sandbox_record.h"
#include "supervisor/client.h"
#include "supervisor/console.h"
#include "supervisor/files.h"
#include "supervisor/guest_link.h"
#include "supervisor/idle.h"
#include "supervisor/launcher.h"
#include "supervisor/phases.h"
#include "supervisor/qemu.h"
#include "supervisor/qmp.h"
#include "supervisor/saving.h"
#include "supervisor/session.h"

struct error;

enum sandbox_life {
	SANDBOX_NEW,      /* files are open, nothing runs */
	SANDBOX_STARTING, /* QEMU runs, guest is not awake; boot_timer counts */
	SANDBOX_RUNNING,  /* sessions may be started */
	SANDBOX_PAUSED,   /* QEMU stopped the vCPUs: the host's disk is full;
			     space_timer looks for room; sessions stay open */
	SANDBOX_STOPPING, /* no new sessions; stop_timer counts, then quit,
			     then SIGKILL */
	SANDBOX_GONE,     /* terminal: QEMU reaped, state written; the last
			     answers are flushed and the process ends */

	SANDBOX_LIVES,
};

/*
 * On --rm: who removes the folder is whoever may change its parent, and that
 * is not a confined process. The supervisor gives the disk's space back by
 * emptying it; a CLI that is still there removes the folder after `alive` is
 * free, otherwise bawn-launch does, or the next command, because the record
 * says remove_at_end and nobody holds `alive`.
 */
struct sandbox {
	struct loop *loop;             /* borrowed */
	const struct start_spec *spec; /* borrowed */
	struct files *files;           /* borrowed */

	enum sandbox_life life;
	bool failed;       /* the end was not asked for */
	char reason[256];  /* of a failure or a pause; printable */
	char warning[512]; /* told to the next client; printable */
	bool greeted;      /* WAKE was sent (and HELLO had come) */
	bool guest_awake;  /* AWAKE has come */
	bool starved;      /* the host's disk was full before it was ready */
	bool shut_down;    /* QEMU announced the guest's end */
	bool reset;        /* … by which it wanted to boot anew */
	struct sandbox_state saved; /* what state.json says */
	struct phases phases;

	struct launcher launcher;
	struct qemu qemu;
	struct qmp qmp;
	struct guest_link guest;
	struct console console;
	struct sessions sessions;
	struct clients clients;
	struct saving saving;
	struct idle idle;

	uint8_t marker[MUX_MARKER_BYTES]; /* of this or the next epoch */
	bool suspended;                   /* GONE, and its memory is kept */
	bool image_written;               /* MAKE_WARM: state is complete */
	bool image_made;                  /* … and safe on the disk */
	struct message_stats stats;

	struct timer boot_timer, stop_timer, space_timer, flush_timer;
	struct source clock_source; /* the host's clock was set */
	int stop_step;
	bool late;           /* no answer in time: the vCPUs are looked at */
	unsigned vcpus_told; /* so many of them */
	uint64_t gone_ms;
};

/* After qemu_spawn() and isolation: everything goes onto the loop. */
int sandbox_facts_open(struct sandbox *sandbox, struct error *err);
void sandbox_facts_close(struct sandbox *sandbox);

/* The guest answered WAKE. */
void sandbox_awake(struct sandbox *sandbox);
/* Ends the machine: politely within timeout_ms, then by force. */
void sandbox_stop(struct sandbox *sandbox, uint64_t timeout_ms);
/* Something went wrong that the machine cannot go on with. */
void sandbox_fail(struct sandbox *sandbox, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* QEMU was reaped. */
void sandbox_gone(struct sandbox *sandbox, int status);
/* It runs, but something that it should have is missing. */
void sandbox_lacks(struct sandbox *sandbox, const char *text);
void sandbox_pause(struct sandbox *sandbox, const char *reason);
void sandbox_resumed(struct sandbox *sandbox);
/* Sessions may be opened: awake, or WAKE is on its way in a restored guest. */
bool sandbox_accepts_sessions(const struct sandbox *sandbox);
void sandbox_event(struct sandbox *sandbox, const char *event, json_t *details);
const char *sandbox_life_name(enum sandbox_life life);
