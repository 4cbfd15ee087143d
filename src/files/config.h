/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - what the supervisor tells bawn-files at its start
 *
 * One JSON object, read from a descriptor to its end, before the process locks
 * itself:
 *   "shares": [{"path", "guest_path", "read_only", "quota_bytes",
 *               "quota_inodes", "hide": [patterns]}]
 *   "absent": [paths of folders that no share shows]
 *   "guest_uid", "guest_gid": who the host's owner is inside
 *   "marker": 64 hex digits after a restore or a restart, else null
 *   "memory": number of the descriptor that keeps the nodes, or null
 * Unknown keys are errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "files/record.h"

struct error;
struct server;

struct config {
	bool has_marker;
	uint8_t marker[RECORD_MARKER_BYTES];
	int memory_fd; /* -1: none */
};

/* Opens the shares into server. */
int config_read(int fd, struct config *config, struct server *server,
		struct error *err);
