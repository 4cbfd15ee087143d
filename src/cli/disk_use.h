/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_use.h - what a sandbox takes of the host's disk
 */
#pragma once

#include <stdint.h>

struct disk_use {
	uint64_t own;         /* comes back when the sandbox goes */
	uint64_t shared;      /* files that forks have a name of, too */
	uint64_t memory;      /* of `own`: the memory of a suspended one */
	uint64_t checkpoints; /* of both: its checkpoints */
};

/* All beneath a folder; what cannot be read is not counted. */
void disk_use_of(int parent, const char *name, struct disk_use *use);
