/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - what was changed in a workspace, so that it can be taken back
 *
 * bawn-files writes it, `bawn undo` reads it from the end to the start. It
 * lies where bawn-files can write, which reads a guest's bytes: to a reader it
 * is foreign. Nothing here touches a file.
 *
 * A journal is a head and records (PROTOCOL.md, "The undo journal"). A record
 * is written before the change that it tells of, so that the last one may tell
 * of something that never happened: who reads has to look. A record that is
 * cut or does not fit its checksum ends the journal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_HEAD_BYTES 16
#define JOURNAL_FRAME_BYTES 8
#define JOURNAL_PATH_MAX 65536
#define JOURNAL_DEPTH_MAX 1024
#define JOURNAL_XATTRS_MAX 65536
#define JOURNAL_RECORD_MAX (256U << 10)
#define JOURNAL_BYTES_MAX (64U << 20)
#define JOURNAL_SHARES_MAX 64

enum journal_type {
	JOURNAL_SHARE = 1, /* `path`: what this share's number stands for */
	JOURNAL_CREATE,    /* `path` is made; `text`: target of a link */
	JOURNAL_REMOVE,    /* `path` goes away; saved as `number`, or `text` */
	JOURNAL_RENAME,    /* `path` to `text`, which is free */
	JOURNAL_EXCHANGE,  /* `path` and `text` */
	JOURNAL_CHANGE,    /* first change: what it was like before */
	JOURNAL_LEFT,      /* how the guest left this inode */
	JOURNAL_CANCEL,    /* the last `number` changes did not happen */
	JOURNAL_END,       /* in order: LEFT was written for every file */
	JOURNAL_RESTART,   /* a new process goes on, since `file`.mtime_ns */
	JOURNAL_LOST,      /* `path` cannot be taken back, `text` says why */

	JOURNAL_TYPES,
};

enum journal_flag {
	JOURNAL_DATA = 1 << 0,    /* CHANGE: content too, not only attributes */
	JOURNAL_CREATED = 1 << 1, /* the inode was made since the mark */
	JOURNAL_HARD_LINK = 1 << 2, /* CREATE: another name of `file` */
	JOURNAL_SAVED = 1 << 3, /* CHANGE: the saved file `text` is the inode */
	JOURNAL_LINKED = 1 << 4, /* REMOVE: it had more names */
	JOURNAL_FLAGS = (1 << 5) - 1,
};

struct journal_file {
	uint64_t dev, ino, btime_ns; /* which inode */
	uint32_t mode;               /* with its type */
	uint64_t size;
	int64_t atime_ns, mtime_ns;
};

struct journal_record {
	enum journal_type type;
	uint8_t share;
	unsigned flags;
	uint32_t number;
	struct journal_file file;
	const char
		*path; /* never NULL; from the share's root, "" is the root */
	const char *text;      /* never NULL */
	const uint8_t *xattrs; /* see journal_xattr_next() */
	size_t xattrs_len;
};

struct journal_xattr {
	const char *name;
	const uint8_t *value;
	size_t len;
};

void journal_head(uint8_t head[JOURNAL_HEAD_BYTES]);
/* With its frame; 0: it does not fit. */
size_t journal_encode(const struct journal_record *record, void *bytes,
		      size_t size);
/* Adds one to a list of attributes; the new length, or 0: it does not fit. */
size_t journal_xattr_add(uint8_t *xattrs, size_t len, size_t size,
			 const struct journal_xattr *one);

struct journal_reader {
	const uint8_t *bytes;
	size_t len, at; /* at: end of the last good record */
};

/* -1: no journal, or of another version. */
int journal_begin(struct journal_reader *reader, const void *bytes, size_t len);
/*
 * 1: a record, which points into the bytes; 0: the end, with reader->at before
 * reader->len when the rest is torn; -1: what is there was never written by us.
 */
int journal_next(struct journal_reader *reader, struct journal_record *record);
/* The record that begins at `at`, which journal_next() has passed. */
int journal_at(const struct journal_reader *reader, size_t at,
	       struct journal_record *record);
/* 1, 0: no more. *at starts at 0. */
int journal_xattr_next(const struct journal_record *record, size_t *at,
		       struct journal_xattr *one);

/* Components that are names, no empty one, no dots. "" is none. */
bool journal_path_is_good(const char *path);
bool journal_label_is_good(const char *label);
#define JOURNAL_LABEL_MAX 64
