/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - lines between bawn-files and the launcher that started it
 *
 * Launcher: `mark LABEL`; `forget`, when somebody has changed what the server
 * keeps beside the shares. Server: `ready` when it has locked itself,
 * `welcomed` when the guest was told the next marker, `initialised N` when it
 * has mounted share N, `marked LABEL` or `failed TEXT` for each mark. The
 * launcher is the parent; when the channel ends, the server ends.
 */
#pragma once

#include <stddef.h>

#include "base/loop.h"

struct error;

#define CONTROL_LINE_MAX 512
#define CONTROL_LABEL_MAX 200

struct control {
	struct source source; /* fd -1: there is no launcher */
	char line[CONTROL_LINE_MAX];
	size_t len;
	/* 0 when a mark was set, else -1 with err: the answer is sent here. */
	int (*on_mark)(void *ctx, const char *label, struct error *err);
	/* Nothing that the guest was told is to be believed. May be NULL. */
	void (*on_forget)(void *ctx);
	void *ctx;
};

/* fd is borrowed, made non-blocking, and may be -1. */
void control_init(struct control *control, int fd);
int control_start(struct control *control, struct loop *loop,
		  struct error *err);
void control_release(struct control *control);
/* One line without its newline; lost when nobody reads them any more. */
void control_say(struct control *control, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
