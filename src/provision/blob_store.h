/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_store.h - parts of images by their digest: cache/blobs/
 *
 *   sha256/HEX      complete, read-only
 *   partial/HEX     on its way; whoever fills it holds its lock
 *
 * It is a cache: what is missing is fetched again. A complete one was checked
 * by whoever filled it; who unpacks it checks its content once more, so a
 * damaged one does no harm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct image_descriptor;

struct blob_store {
	int folder; /* owned */
	int lock;   /* owned */
};

#define BLOB_STORE_INIT ((struct blob_store){ -1, -1 })

enum blob_store_use {
	BLOB_STORE_SHARED, /* reading and adding: many at a time */
	BLOB_STORE_ALONE,  /* removing: waits for the others */
};

int blob_store_open(struct blob_store *store, enum blob_store_use use,
		    struct error *err);
void blob_store_close(struct blob_store *store);
#define AUTO_BLOB_STORE __attribute__((cleanup(blob_store_close)))

/* Read-only, at its start; -1 with ENOENT when it is not there whole. */
int blob_store_get(const struct blob_store *store,
		   const struct image_descriptor *blob, struct error *err);

struct blob_partial {
	int fd; /* owned: read and write, locked; -1 when none is open */
	char name[160]; /* in partial/ */
	char digest[136];
};

#define BLOB_PARTIAL_INIT ((struct blob_partial){ .fd = -1 })

/*
 * A file to fill, with what an earlier try left in it. If somebody else fills
 * it just now it is another one, empty.
 */
int blob_store_begin(const struct blob_store *store,
		     const struct image_descriptor *blob,
		     struct blob_partial *partial, struct error *err);
/* A second descriptor, read-only, with a place of its own. */
int blob_store_reopen(const struct blob_store *store,
		      const struct blob_partial *partial, struct error *err);
/* It is complete: from now on it is found. Closes it. */
int blob_store_commit(const struct blob_store *store,
		      struct blob_partial *partial, struct error *err);
enum blob_store_rest {
	BLOB_STORE_KEEP, /* what is there is for the next try */
	BLOB_STORE_DROP, /* a next try would begin anew */
};

/* Closes it, incomplete. */
void blob_store_leave(const struct blob_store *store,
		      struct blob_partial *partial, enum blob_store_rest rest);
int blob_store_remove(const struct blob_store *store, const char *digest,
		      struct error *err);

/* digest is NULL for what is not complete and nobody fills. */
typedef void blob_store_fn(void *ctx, const char *digest, uint64_t bytes,
			   bool *remove);
int blob_store_each(const struct blob_store *store, blob_store_fn *each,
		    void *ctx, struct error *err);
