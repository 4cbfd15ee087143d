/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qmp_reply.h - one line of QEMU's monitor, parsed
 *
 * Pure. QEMU may have been taken over by its guest, so that this is foreign
 * text like any other.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define QMP_LINE_MAX (256u * 1024)
#define QMP_NAME_MAX 64
#define QMP_TEXT_MAX 256

enum qmp_kind {
	QMP_GREETING, /* {"QMP": …} */
	QMP_RETURN,   /* {"return": …, "id": N} */
	QMP_ERROR,    /* {"error": {"class": …, "desc": …}, "id": N} */
	QMP_EVENT,    /* {"event": …, "data": …, "timestamp": …} */
};

struct qmp_reply {
	enum qmp_kind kind;
	uint64_t id;             /* of RETURN and ERROR; 0 = none given */
	char name[QMP_NAME_MAX]; /* of EVENT */
	char text[QMP_TEXT_MAX]; /* of ERROR: printable */
	json_t *body;            /* owned; what return or data held, or NULL */
};

int qmp_reply_parse(const char *line, size_t len, struct qmp_reply *reply,
		    struct error *err);
void qmp_reply_release(struct qmp_reply *reply);
/* A string of body, or "" when it has no such key. */
const char *qmp_reply_string(const struct qmp_reply *reply, const char *key);
