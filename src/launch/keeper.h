/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.h - keeps the programs running that serve a guest's ports
 *
 * bawn-files, bawn-net and bawn-keys are rows of one table (keeper_files.c,
 * keeper_net.c, keeper_keys.c); what they have in common is here: how they are
 * started, how often they are tried again, what becomes of their last words,
 * and the markers. A program that dies is started again with the marker that
 * the guest waits for. One that cannot even begin is not tried again and again:
 * the user is told.
 *
 * Markers: the guest knows the one that the last WELCOME announced. The program
 * says `welcomed` when it has sent that; until then the old one stays right.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/child.h"
#include "base/loop.h"

struct error;
struct keeper;

#define KEEPER_MARKER_BYTES 32
#define KEEPER_DEATHS_MAX 10
#define KEEPER_LINE_MAX 512
#define KEEPER_EXTRA 6

/* Numbers in the child, from 6 on the row's own. */
enum keeper_fd {
	KEEPER_FD_ERRORS = 2,
	KEEPER_FD_PORT,
	KEEPER_FD_MESSAGE,
	KEEPER_FD_CONTROL,
	KEEPER_FD_EXTRA,
};

enum keeper_life {
	KEEPER_IDLE,     /* nothing to serve, or QEMU has closed the port */
	KEEPER_STARTING, /* it was started and has not said `ready` */
	KEEPER_SERVING,  /* it locked itself and reads the port */
	KEEPER_ENDING,   /* it was asked to end; a successor comes */
	KEEPER_WAITING,  /* it died; the retry timer runs */
	KEEPER_GIVEN_UP, /* it died too often, or could never start; what has
			    served is tried again after a minute */

	KEEPER_LIVES,
};

/* What is different about a program. */
struct keeper_row {
	const char *program; /* ours, by name */
	const char *lost;    /* for the user, when it was given up */
	int channel;         /* SOCK_STREAM or SOCK_SEQPACKET */
	/* In the child before exec; may be NULL. */
	int (*prepare)(void *ctx, struct error *err);
	/* The start message without the markers; caller owns it. */
	json_t *(*message)(struct keeper *keeper);
	/* Descriptors from KEEPER_FD_EXTRA on, those that stay -1 are not
	 * there; the caller closes them. */
	int (*open_extra)(struct keeper *keeper, int extra[KEEPER_EXTRA],
			  struct error *err);
	/* Takes what is there from keeper->control; false: nothing is now. */
	bool (*read_control)(struct keeper *keeper);
	void (*on_ready)(struct keeper *keeper); /* may be NULL */
	void (*on_gone)(struct keeper *keeper);  /* may be NULL */
	/* New settings work, or do not; may be NULL. */
	void (*on_settled)(struct keeper *keeper);
	void (*on_refused)(struct keeper *keeper);
};

struct keeper_lines {
	char bytes[KEEPER_LINE_MAX];
	size_t len;
};

struct keeper_ops {
	/* Something that a client may wait for has happened. */
	void (*on_change)(void *ctx);
	/* The guest is not served any more; text is for the user. */
	void (*on_failed)(void *ctx, const char *text);
	/* Something is missing that it can do without; for the user too. */
	void (*on_lacks)(void *ctx, const char *text);
};

struct keeper {
	const struct keeper_row *row;
	enum keeper_life life;
	struct child child; /* pid 0 when it does not run */
	unsigned restarts;
	char why[KEEPER_LINE_MAX]; /* the last line of its errors, printable */
	char refused[KEEPER_LINE_MAX]; /* why new settings were taken back */

	/* for rows */
	struct loop *loop; /* borrowed */
	int port, folder;  /* borrowed: host's end or -1; sandbox's folder */
	json_t *settings;  /* owned; NULL: nothing to serve */
	json_t *settings_back; /* owned: those before, until the new ones work
				*/
	bool welcomed, frozen;
	struct source control;
	const struct keeper_ops *ops;
	void *ctx;

	/* private */
	bool has_marker, served, closing;
	uint8_t marker[KEEPER_MARKER_BYTES];
	uint8_t next_marker[KEEPER_MARKER_BYTES];
	uint64_t deaths_ms[KEEPER_DEATHS_MAX];
	unsigned deaths;
	struct source exit_source, errors;
	struct keeper_lines error_lines;
	struct timer retry, patience;
};

/* marker: 64 hex digits, or NULL for a guest that boots. */
int keeper_init(struct keeper *keeper, const struct keeper_row *row,
		struct loop *loop, int port, int folder, const char *marker,
		struct error *err);
/* Takes the reference of settings. A failure is told by on_failed(). */
void keeper_serve(struct keeper *keeper, json_t *settings);
/* Takes new settings; those before come back when they do not work. */
void keeper_take(struct keeper *keeper, json_t *settings);
/* A successor with these settings: after a planned end, or at once. */
void keeper_replace(struct keeper *keeper, json_t *settings);
/* The new settings do not work: back to those before. */
void keeper_refuse(struct keeper *keeper, const char *why);
/* The new settings work. */
void keeper_settle(struct keeper *keeper);
/* No successor any more; it ends by itself when QEMU has. */
void keeper_end(struct keeper *keeper);
void keeper_kill(struct keeper *keeper);
/* It stands still, and does so when this returns; and goes on. */
void keeper_freeze(struct keeper *keeper);
void keeper_thaw(struct keeper *keeper);
bool keeper_runs(const struct keeper *keeper);
const char *keeper_life_name(enum keeper_life life);
void keeper_release(struct keeper *keeper);

/* What the program said on its control descriptor. */
void keeper_ready(struct keeper *keeper);
void keeper_welcomed(struct keeper *keeper);

/* False: there is nothing more to read now. */
bool keeper_read_lines(struct source *source, struct keeper_lines *lines,
		       void (*take)(void *ctx, const char *line), void *ctx);
