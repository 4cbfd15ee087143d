/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - the supervisor's side of bawn-launch, and the files port
 *
 * bawn-launch starts what a confined supervisor no longer could, and outlives
 * it by an instant: it ends when this channel does. It says `failed TEXT` when
 * the shared folders cannot be served. A warm image in the making has none:
 * there the supervisor holds the host's end of the port, and nobody reads it.
 */
#pragma once

#include <stddef.h>

#include "base/loop.h"

struct error;
struct start_spec;

#define LAUNCHER_LINE_MAX 1024

struct launcher {
	int channel;   /* owned; -1: there is none */
	int port;      /* owned: the host's end, MAKE_WARM only; or -1 */
	int qemu_port; /* owned: QEMU's end, until QEMU has it; or -1 */

	/* private */
	struct source source;
	char line[LAUNCHER_LINE_MAX];
	size_t len;
	void (*on_failed)(void *ctx, const char *text); /* printable */
	void (*on_end)(void *ctx);
	void *ctx;
};

/* Before any isolation: what it starts must not inherit ours. */
int launcher_open(struct launcher *launcher, const struct start_spec *spec,
		  int log_fd, struct error *err);
/* QEMU was started. */
void launcher_port_passed(struct launcher *launcher);
/* Does nothing where there is no launcher. */
int launcher_watch(struct launcher *launcher, struct loop *loop,
		   struct error *err);
void launcher_close(struct launcher *launcher);
