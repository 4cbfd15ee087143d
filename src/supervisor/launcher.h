/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launcher.h - the supervisor's side of bawn-launch, and the ports that are
 * served there
 *
 * bawn-launch starts what a confined supervisor no longer could, and outlives
 * it by an instant: it ends when this channel does. It says `failed TEXT` when
 * the shared folders or the network cannot be served, and `lacks TEXT` for what
 * the machine can do without, and `traffic` when a published port is used. A
 * warm image in the making has none:
 * there the supervisor holds the host's ends of the ports, and nobody reads
 * them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct error;
struct start_spec;

#define LAUNCHER_LINE_MAX 1024

enum launcher_port {
	LAUNCHER_FILES,
	LAUNCHER_NET,

	LAUNCHER_PORTS,
};

struct launcher {
	int channel;               /* owned; -1: there is none */
	int ports[LAUNCHER_PORTS]; /* owned: the host's ends, MAKE_WARM only */
	int qemu_ports[LAUNCHER_PORTS]; /* owned: until QEMU has them; or -1 */
	/* Owned, until others have them: memory that bawn-net writes and QEMU's
	 * guest reads; the same for bawn-files; and what that reads itself. */
	int slots, qemu_slots;
	int to_guest, qemu_to_guest;
	int from_guest, qemu_from_guest;
	/* The same: memory of rings.h, which both write; what wakes bawn-files
	 * when the guest rings; QEMU's end of the talk that tells it of both,
	 * and ours, which stays open. */
	int rings, bell, qemu_bell, bell_talk;

	/* private */
	struct source source;
	char line[LAUNCHER_LINE_MAX];
	size_t len;
	void (*on_failed)(void *ctx, const char *text); /* printable */
	void (*on_lacks)(void *ctx, const char *text);  /* printable */
	void (*on_frozen)(void *ctx);
	void (*on_traffic)(void *ctx);
	void (*on_end)(void *ctx);
	void *ctx;
};

/* Before any isolation: what it starts must not inherit ours. */
int launcher_open(struct launcher *launcher, const struct start_spec *spec,
		  int log_fd, struct error *err);
/* QEMU was started. */
void launcher_ports_passed(struct launcher *launcher);
/* Does nothing where there is no launcher. */
int launcher_watch(struct launcher *launcher, struct loop *loop,
		   struct error *err);
/*
 * bawn-files and bawn-net stand still, and what the one knows of the guest's
 * nodes is on the disk under the marker's name; on_frozen follows.
 */
void launcher_freeze(struct launcher *launcher, const uint8_t marker[32]);
void launcher_thaw(struct launcher *launcher);
void launcher_close(struct launcher *launcher);
