/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown.h - the list of shown files (guard.h) that a guest changed
 *
 * The file `shown` in the state folder: for each the name of its share's shadow
 * (shadow.h), a slash, the path, and a NUL. Each is noted once; after
 * SHOWN_MAX the rest is only counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct share;

#define SHOWN_MAX 4096
#define SHOWN_SLOTS (2 * SHOWN_MAX)

struct shown {
	int fd; /* owned; -1: not opened yet */
	int state_fd;
	unsigned count;
	uint64_t seen[SHOWN_SLOTS]; /* hashes; 0: none */
};

void shown_init(struct shown *shown, int state_fd);
void shown_note(struct shown *shown, const struct share *share,
		const char *path);
void shown_release(struct shown *shown);
