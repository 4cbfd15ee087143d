/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - what happened between two marks, as a folder
 *
 * undo/NNNNNN/label    "LABEL SECONDS\n", written first
 *            /journal  journal.h
 *            /files/N  what was saved
 *            /size     bytes of files/, written when the segment is closed
 *            /complete removed when a change could not be written down
 * undo/old-NNNNNN      is being removed
 * undo/touched         inodes that an interrupted `bawn undo` made (replay.h)
 * undo/twins           which inodes these are instead of
 *
 * The folder belongs to the user that bawn-files runs as, which may have been
 * taken over: a reader follows nothing and believes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "undo/journal.h"

struct error;

#define SEGMENT_JOURNAL "journal"
#define SEGMENT_FILES "files"
#define SEGMENT_LABEL "label"
#define SEGMENT_SIZE "size"
#define SEGMENT_COMPLETE "complete" /* gone: a part is missing */
#define SEGMENT_OLD "old-"
#define SEGMENT_RUN "run-" /* how a label of a run begins */
#define SEGMENT_NUMBER_MAX 999999U
#define SEGMENT_COUNT_MAX 1000

/* What all of them may take: a part of what was free, and at most this. */
#define SEGMENT_BYTES_MAX (4ULL << 30)
#define SEGMENT_FREE_PERCENT 10
#define SEGMENT_AGE_S (30 * 24 * 3600)

struct segment {
	unsigned number;
	char label[JOURNAL_LABEL_MAX + 1];
	int64_t time; /* seconds since 1970 */
};

struct segments {
	struct segment *list; /* owned; oldest first */
	size_t count;
};

/* "000042" */
void segment_name(unsigned number, char name[16]);
/* undo_fd: the folder. What is half made is left out. */
int segments_load(int undo_fd, struct segments *segments, struct error *err);
void segments_release(struct segments *segments);
/* A small file; with open and write alone, which bawn-files may do. */
int segment_write(int segment_fd, const char *name, const char *text,
		  struct error *err);
int segment_write_label(int segment_fd, const char *label, int64_t now,
			struct error *err);
/* "run-20260102T030405.678Z", of now: two runs may begin in one second. */
void segment_label_now(const char *prefix, char *label, size_t size);
void segment_time_label(const char *prefix, const struct timespec *time,
			char *label, size_t size);

/* Calls `each` for the names in a folder; stops when it returns not 0. */
typedef int segment_name_fn(void *ctx, int folder, const char *name);
int segment_each_name(int folder, segment_name_fn *each, void *ctx);
