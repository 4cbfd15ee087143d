/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what the launcher tells bawn-files at its start
 *
 * One JSON object, read from a descriptor to its end, before the process locks
 * itself:
 *   "shares": [{"path", "guest_path", "read_only", "overlay", "gone",
 *               "quota_bytes", "quota_inodes", "hide": [patterns]}]
 *              overlay: the guest writes over it, on its own disk; gone: not
 *              shared any more, the number stays taken
 *   "absent": [paths of folders that no share shows]
 *   "unseen": [[major, minor, inode, made_ns]] may be there: hidden files
 *             that may have other names (unseen.h)
 *   "guest_uid", "guest_gid": who the host's owner is inside
 *   "guard": {"held": [patterns], "shown": [patterns]} of guard.h, or null;
 *            "frozen": [[major, minor, inode]] may be there: files of the host
 *            that have a held name and others
 * "undo": keep what the guest changes and, from the launcher itself: "marker":
 * 64 hex digits after a restore or a restart, else null "next_marker": the
 * marker of our successor, else null "memory": number of the descriptor that
 * keeps the nodes, or null "control": of the channel to the launcher
 * (control.h), or null "state": of the folder that keeps what outlives us, or
 * null "to_guest", "from_guest": of the memory beside the port (bulk.h),
 * "rings", "bell": of that of rings.h and what wakes us; may be missing.
 * Unknown keys are errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/record.h"

struct error;
struct server;

struct config {
	bool has_marker;
	uint8_t marker[RECORD_MARKER_BYTES];
	int memory_fd;  /* these are -1 for none */
	int control_fd; /* the server's: server.h */
	int to_guest_fd, from_guest_fd;
	int rings_fd, bell_fd;
};

/* Opens the shares into server. */
int config_read(int fd, struct config *config, struct server *server,
		struct error *err);
