/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - the memory of a machine on disk: suspended, or a checkpoint
 *
 * A folder with `ram` (the machine's RAM, sparse), `state` (of its devices) and
 * `snapshot.json`, which is written last: without it there is no snapshot. A
 * checkpoint also has `disk.qcow2`, the top layer of the disk at that moment; a
 * suspended machine's is machine/disk.qcow2, which must not have changed since.
 *
 * The key says what the state of the devices depends on. A snapshot with
 * another key is foreign, one whose files are not as noted is damaged; neither
 * is ever loaded. The facts say the same for people: lines of "NAME: VALUE".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_FILE "snapshot.json"
#define SNAPSHOT_RAM "ram"
#define SNAPSHOT_STATE "state"
#define SNAPSHOT_DISK "disk.qcow2"
#define SNAPSHOT_BYTES_MAX (256u * 1024)
#define SNAPSHOT_SESSIONS_MAX 100
#define SNAPSHOT_FACTS_MAX 1024
/* In machine/: of a suspended machine; a checkpoint that is being made. */
#define SNAPSHOT_SUSPENDED "suspended"
#define SNAPSHOT_MAKING "checkpoint"

struct snapshot_file {
	uint64_t size, bytes; /* length; blocks on the disk */
	uint64_t inode;
	int64_t changed_ns; /* mtime */
	char sum[65];       /* lower-case hex; "": none */
};

struct snapshot {
	char key[65];    /* 64 hex digits */
	char marker[65]; /* 64 hex digits: what its channel waits for */
	char facts[SNAPSHOT_FACTS_MAX]; /* "": of an older version */
	char accel[8];
	char machine[64], cpu[128];
	unsigned cpus, memory_mib;
	bool quiet; /* the guest stood still */
	int64_t created;
	struct snapshot_file ram, state, disk;
	/* of the supervisor: session, pid, argv, tty, main, started, rows,
	 * cols; checked by whoever uses them */
	json_t *sessions; /* owned array of objects */
	uint32_t next_session;
};

/* malloc'd text; NULL when a text is not UTF-8. */
char *snapshot_encode(const struct snapshot *snapshot);
/* Pure and strict. On failure nothing is left to release. */
int snapshot_parse(const void *bytes, size_t len, struct snapshot *snapshot,
		   struct error *err);
void snapshot_release(struct snapshot *snapshot);

/*
 * What differs first, in the order of here: "another NAME (kept: VALUE, here:
 * VALUE)", printable. -1: nothing does, or kept says nothing.
 */
int snapshot_difference(const char *kept, const char *here, char *text,
			size_t size);

/* Sets err to this text, which says all, and to this code; returns -1. */
int snapshot_refuse(struct error *err, int code, const char *text);

/* Size, inode and time of a file as it is now; sum stays. */
int snapshot_note(int fd, struct snapshot_file *file, struct error *err);
/*
 * Loads snapshot.json of a folder and compares: the key, the files. facts are
 * those of this machine, for what is said of another key. A file whose
 * inode or time is another is read through and its sum compared. EBADMSG in
 * err->code: damaged; ESTALE: foreign; ENOENT: there is none.
 */
int snapshot_load(int folder, const char *key, const char *facts,
		  struct snapshot *snapshot, struct error *err);
/*
 * Completes the manifest of a checkpoint in a folder that nobody else writes
 * to: files as they are now, and sums that are not there yet. All of it is on
 * the disk then.
 */
int snapshot_complete(int folder, struct error *err);
/* Sums of a whole file, holes skipped: 16 hex digits, and fast. */
int snapshot_sum(int fd, char sum[65], struct error *err);

#define SNAPSHOT_PAGE 4096
/* A part of that sum: one page at its place; add them up. Zero pages are 0. */
uint64_t snapshot_page_sum(const void *page, uint64_t number);
