/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_listing.h - listings of folders that nobody has asked for yet
 *
 * Who walks through a tree asks for one folder after the other. The server
 * sends the next ones ahead (files/walk.h); requests for a listing, and for
 * names in it, are answered from here.
 *
 * It is never older than what the kernel may believe, for the reasons that
 * relay_ahead.h gives. But a listing tells of the attributes of its entries as
 * well, so whatever changes an entry drops the whole of it.
 *
 * The server counts each entry as one that the kernel was given. Entries that
 * the kernel never gets are owed to the server: listings_forget() makes the
 * messages by which it hears that they are forgotten.
 *
 * Some come to a folder twice: rm looks whether it is empty before it lists
 * it, and a kernel keeps only what was read to its end. So a listing that was
 * given, or that the server has answered, is kept as names alone: each entry is
 * the kernel's already, and need not be given, counted or compared once more.
 * It goes with the first entry that the kernel forgets, and long before the
 * kernel would ask for every name. Pure.
 */
#pragma once

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define LISTING_BUCKETS 1024
#define LISTING_ENTRY_BUCKETS 4096
#define LISTING_BYTES_MAX (8U << 20) /* then the oldest goes */
#define LISTING_COUNT_MAX 2048
#define LISTING_LEN_MAX (128U << 10)
#define LISTING_USED_MAX 64
#define LISTING_TELL 8       /* used ones, then the server is told */
#define LISTING_TELL_FILE 16 /* one of so many files whose content was used */
#define LISTING_LASTING_S 60 /* less than where the host watches a folder */

struct listing;
struct listing_entry;

struct listing_used {
	uint64_t node;
	unsigned share;
};

struct listings {
	struct list order; /* oldest first */
	struct list owed;
	struct listing *buckets[LISTING_BUCKETS];             /* by folder */
	struct listing_entry *entries[LISTING_ENTRY_BUCKETS]; /* by node */
	size_t bytes;
	unsigned count;
	/* That the kernel made use of, and the server was not told of yet. */
	struct listing_used used[LISTING_USED_MAX];
	unsigned used_count;
	unsigned files_used;
};

enum listing_found {
	LISTING_UNKNOWN, /* ask the server */
	LISTING_THERE,
	LISTING_ABSENT,
};

void listings_init(struct listings *listings);
/* All of them are owed. */
void listings_clear(struct listings *listings);
void listings_release(struct listings *listings);
/*
 * The payload of an AHEAD record with a READDIRPLUS. False: it is none.
 * `wanted` false: it is owed at once.
 */
bool listings_add(struct listings *listings, unsigned share,
		  const void *payload, size_t len, bool wanted);
/*
 * Such a payload made of what the server has answered: the kernel has it, and
 * it is kept as one that was given, if it may be believed for long.
 */
void listings_keep(struct listings *listings, unsigned share,
		   const void *payload, size_t len, uint64_t now_s);
/* Does this payload tell anything of the node? */
bool listing_tells_of(const void *payload, size_t len, uint64_t node);

/* The answer to READDIRPLUS; it holds until the table is used again. Seconds
 * are of any clock that does not go back. */
bool listings_find(struct listings *listings, unsigned share,
		   const void *request, size_t len, uint64_t now_s,
		   const uint8_t **bytes, size_t *answer_len);
/* The kernel has got it; or it was not there any more to get it. */
void listings_given(struct listings *listings, unsigned share, uint64_t folder,
		    uint64_t now_s, bool taken);
/* The answer to LOOKUP; THERE is the kernel's from now on. */
enum listing_found listings_lookup(struct listings *listings, unsigned share,
				   const void *request, size_t len,
				   struct fuse_entry_out *out);
/* The content of this file came ahead, and was given. */
void listings_file_given(struct listings *listings, unsigned share,
			 uint64_t node);
/* Whatever tells of this node goes. */
void listings_drop(struct listings *listings, unsigned share, uint64_t node);
/* The next BATCH_FORGET that is owed, into room; 0: none is. */
size_t listings_forget(struct listings *listings, void *room, size_t size,
		       unsigned *share);
