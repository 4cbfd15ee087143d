/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - bawn-net's questions about layers, and what it puts in
 *
 * Packets (ipc/packet.h):
 *   {"op": "get", "id", "registry", "digest": HEX} is answered by
 *   {"op": "have", "id", "size"} with a file to read, or
 *   {"op": "want", "id"} with a pipe to write it to, or
 *   {"op": "none", "id"}: it can be neither had nor put.
 * A pipe needs no end mark: what was written is kept when its digest is right,
 * and only then.
 */
#pragma once

#include <stdint.h>

struct error;

/* Until the peer has gone. Both are borrowed. */
int server_run(int peer, int folder, uint64_t max_bytes, struct error *err);
