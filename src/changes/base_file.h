/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_file.h - what the host's folder was when the guest last saw it as it is
 *
 * A file of records: a letter, mode, inode, size, time and a hash of the
 * attributes of a path. 'b' is the host's file that a change of the guest
 * stands on: when the host's is another one by now, the change is in conflict
 * with it. 'g' is a change of the guest that was applied: it is none as long as
 * the guest leaves it so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buffer;
struct error;
struct set_entry;
struct stat;

enum base_kind {
	BASE_HOST = 'b',
	BASE_APPLIED = 'g',
};

struct base_record {
	enum base_kind kind;
	mode_t mode;
	uint64_t ino, size;
	int64_t mtime;
	uint32_t mtime_ns;
	bool has_attributes; /* not in records of earlier versions */
	uint64_t attributes; /* attributes_hash() */
	const char *path;    /* borrowed, or owned by the list that holds it */
};

struct base_list {
	struct base_record *records; /* owned; sorted by path, then kind */
	size_t count;
};

#define BASE_ENTRIES_MAX (4u * 1000 * 1000)

/* "b 100644 17 5 1700000000.000000001,0 a/b" and a NUL; pure. */
int base_record_encode(const struct base_record *record, struct buffer *out);
/* One record without its NUL, which must follow; path points into text. */
int base_record_parse(const char *text, struct base_record *record);

/* Of the file that is called so in the folder at. */
void base_record_of_host(struct base_record *record, const char *path, int at,
			 const struct stat *st);
void base_record_of_entry(struct base_record *record,
			  const struct set_entry *entry);
bool base_record_same(const struct base_record *a, const struct base_record *b);

/*
 * Writes a record of everything beneath root, with no link followed, to fd.
 */
int base_scan(int root, int fd, struct error *err);
/* Calls take() for each record of the file; -1 of take() ends it. */
int base_each(int fd, int (*take)(void *ctx, const struct base_record *record),
	      void *ctx, struct error *err);

/* Adds a copy; sort with base_list_sort() before the first find. */
void base_list_add(struct base_list *list, const struct base_record *record);
void base_list_sort(struct base_list *list);
const struct base_record *base_list_find(const struct base_list *list,
					 enum base_kind kind, const char *path);
void base_list_release(struct base_list *list);
#define AUTO_BASE_LIST __attribute__((cleanup(base_list_release)))
