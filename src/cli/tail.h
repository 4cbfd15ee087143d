/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.h - print files line by line, and go on as they grow
 *
 * What is in them may come from a guest: nothing that a terminal would obey
 * gets through.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct error;

struct tail_file {
	const char *name; /* in the folder */
	/* A whole line without its end; printable when it is printed. */
	void (*line)(void *ctx, const char *text, size_t len);
	void *ctx;

	int fd;             /* private; -1 when not open */
	uint64_t offset;    /* private */
	struct buffer part; /* private: a line that has not ended */
};

#define TAIL_LINE_MAX (64u * 1024)

void tail_file_init(struct tail_file *file, const char *name,
		    void (*line)(void *ctx, const char *text, size_t len),
		    void *ctx);
void tail_file_release(struct tail_file *file);
/* Prints what is there; a missing file is fine. */
void tail_read(int folder, struct tail_file *file);
/* The rest of a line that has no end yet. */
void tail_end(struct tail_file *file);
/*
 * Prints what is there and then what is added, until a signal ends us, the
 * folder is removed, or nobody reads our output.
 */
int tail_follow(int folder, struct tail_file *files, size_t count,
		struct error *err);

struct tail_place {
	int folder; /* -1: nothing to see there */
	struct tail_file *files;
	size_t count;
};

/* The same for several folders, until all of them are removed. */
int tail_follow_each(struct tail_place *places, size_t count,
		     struct error *err);
