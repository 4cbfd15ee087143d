/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes_file.h - bawn-files' table of nodes, kept with a snapshot
 *
 * A restored guest goes on using the node ids that it had. `nodes` in the
 * sandbox's folder is the marker of the snapshot, 32 bytes, then, from 4,096
 * on, the table.
 */
#pragma once

#include <stdint.h>

struct error;

#define NODES_FILE "nodes"
#define NODES_MARKER_BYTES 32
#define NODES_BYTES_MAX (1u << 30)

int nodes_file_save(int folder, int memory,
		    const uint8_t marker[NODES_MARKER_BYTES],
		    struct error *err);
/*
 * Into memory, which is empty, when it belongs to this marker; otherwise
 * nothing. The file is gone afterwards.
 */
int nodes_file_take(int folder, int memory,
		    const uint8_t marker[NODES_MARKER_BYTES],
		    struct error *err);
