/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qmp.h - the monitor of a running QEMU
 *
 * Commands may be sent before QEMU has said its greeting and without waiting
 * for answers: QEMU takes them in order, and answers come in that order.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/loop.h"

struct error;
struct qmp_reply;

#define QMP_PENDING_MAX 16
/* Sets of descriptors that no disk of the start has (qemu_argv.c). */
#define QMP_SET_STATE 1000
#define QMP_SET_STATE_TEXT "1000"
#define QMP_SET_DISK 1001
#define QMP_SET_DISK_TEXT "1001"

/* reply is NULL when the monitor was lost before an answer came. */
typedef void qmp_answer_fn(void *ctx, const struct qmp_reply *reply);

struct qmp_ops {
	void (*on_event)(void *ctx, const struct qmp_reply *event);
	/* The monitor is closed or talks nonsense; no callbacks follow. */
	void (*on_lost)(void *ctx, const char *why);
};

struct qmp_pending {
	uint64_t id;
	qmp_answer_fn *on_answer; /* may be NULL */
};

struct qmp {
	const struct qmp_ops *ops;
	void *ctx; /* of ops and of every answer */

	/* private */
	struct source source;
	struct buffer in, out;
	size_t fd_at; /* offset in out of the byte that carries send_fd */
	int send_fd;  /* owned; -1 = none */
	uint64_t next_id;
	struct qmp_pending pending[QMP_PENDING_MAX];
	unsigned pending_first, pending_count;
};

/* Takes fd, non-blocking; sends qmp_capabilities. */
int qmp_open(struct qmp *qmp, struct loop *loop, int fd,
	     const struct qmp_ops *ops, void *ctx, struct error *err);
void qmp_close(struct qmp *qmp);
/* QEMU has ended: handles what it had written before. */
void qmp_drain(struct qmp *qmp);
bool qmp_is_open(const struct qmp *qmp);

/* arguments may be NULL; the reference is taken. */
int qmp_send(struct qmp *qmp, const char *command, json_t *arguments,
	     qmp_answer_fn *on_answer, struct error *err);
/* add-fd: QEMU gets a duplicate of fd as /dev/fdset/SET, good for such opens
 * as the descriptor's own mode allows. */
int qmp_send_fd(struct qmp *qmp, unsigned set, int fd, qmp_answer_fn *on_answer,
		struct error *err);
