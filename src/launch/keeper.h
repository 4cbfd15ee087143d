/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - keeps bawn-files running
 *
 * One row of the launcher's fixed table: the program, its descriptors, its
 * message. A server that dies is started again with the memory of its nodes
 * and the marker that the guest waits for. One that cannot even begin is not
 * tried again and again: the user is told.
 *
 * Markers: the guest knows the one that the last WELCOME announced. The server
 * says `welcomed` when it has sent that; until then the old one stays right.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/child.h"
#include "base/loop.h"

struct error;

#define KEEPER_MARKER_BYTES 32
#define KEEPER_SHARES_MAX 64
#define KEEPER_DEATHS_MAX 10
#define KEEPER_LINE_MAX 512

enum keeper_life {
	KEEPER_IDLE,     /* nothing is shared, or QEMU has closed the port */
	KEEPER_STARTING, /* it was started and has not said `ready` */
	KEEPER_SERVING,  /* it locked itself and reads the port */
	KEEPER_ENDING,   /* it was asked to end; a successor comes */
	KEEPER_WAITING,  /* it died; the retry timer runs */
	KEEPER_GIVEN_UP, /* it died too often, or could never start */

	KEEPER_LIVES,
};

struct keeper_line {
	struct source source;
	char bytes[KEEPER_LINE_MAX];
	size_t len;
};

struct keeper_ops {
	/* Something that a client may wait for has happened. */
	void (*on_change)(void *ctx);
	/* why is NULL when the mark was set. */
	void (*on_mark)(void *ctx, const char *why);
	/* The shares are not served any more; text is for the user. */
	void (*on_failed)(void *ctx, const char *text);
};

struct keeper {
	enum keeper_life life;
	struct child child; /* pid 0 when it does not run */
	unsigned restarts;
	char why[KEEPER_LINE_MAX]; /* the last line of its errors, printable */
	char refused[KEEPER_LINE_MAX]; /* why a new list was taken back */

	/* private */
	struct loop *loop;  /* borrowed */
	int port, folder;   /* borrowed: the host's end; the sandbox's folder */
	int memory;         /* owned: the nodes */
	json_t *files;      /* owned: the list; NULL: nothing is shared */
	json_t *files_back; /* owned: the one before, until the new one works */
	bool has_marker, welcomed, served, closing;
	uint8_t marker[KEEPER_MARKER_BYTES];
	uint8_t next_marker[KEEPER_MARKER_BYTES];
	uint64_t initialised; /* bit n: the guest has mounted share n */
	uint64_t deaths_ms[KEEPER_DEATHS_MAX];
	unsigned deaths;
	struct source exit_source;
	struct keeper_line control, errors;
	struct timer retry, patience;
	const struct keeper_ops *ops;
	void *ctx;
};

/* marker: 64 hex digits, or NULL for a guest that boots. */
int keeper_init(struct keeper *keeper, struct loop *loop, int port, int folder,
		const char *marker, struct error *err);
/* Takes the reference of files. A failure is told by on_failed(). */
void keeper_serve(struct keeper *keeper, json_t *files);
/* The same for a new list, while the old one is served. */
void keeper_change(struct keeper *keeper, json_t *files);
/* Every share of the list is mounted in the guest. */
bool keeper_settled(const struct keeper *keeper);
/* -1 when there is no server. */
int keeper_mark(struct keeper *keeper, const char *label);
/* No successor any more; it ends by itself when QEMU has. */
void keeper_end(struct keeper *keeper);
void keeper_kill(struct keeper *keeper);
bool keeper_runs(const struct keeper *keeper);
void keeper_release(struct keeper *keeper);
