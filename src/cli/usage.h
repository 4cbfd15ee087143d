/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - what a sandbox takes of the host, as the host sees it
 *
 * The guest is not asked: it might lie, or not answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/tail.h"

struct sandbox;
struct sandbox_state;

struct usage {
	uint64_t cpu_ms;          /* of the machine, since it started */
	uint64_t memory_bytes;    /* pages that are the machine's alone */
	uint64_t disk_bytes;      /* its own disk, without what it shares */
	uint64_t net_in, net_out; /* of connections that have ended */
	struct tail_file net_log; /* private: read this far */
};

void usage_init(struct usage *usage);
void usage_release(struct usage *usage);
/* What cannot be read stays as it was; a stopped machine has no CPU. */
void usage_read(struct usage *usage, const struct sandbox *sandbox,
		const struct sandbox_state *state);

/* CPU time in /proc/PID/stat, whose second field may hold anything. Pure. */
int usage_parse_stat(const char *text, size_t len, long ticks,
		     uint64_t *cpu_ms);
/* Resident pages in /proc/PID/statm that are no file's. Pure. */
int usage_parse_statm(const char *text, size_t len, long page, uint64_t *bytes);
