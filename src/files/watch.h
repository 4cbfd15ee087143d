/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - changes that the host makes, told to the guest's kernel
 *
 * Each folder that the guest has looked into is watched by inotify, up to a
 * number; what is told of a watched folder may be believed for long, the rest
 * for a second (entry.h). An operation of ours says what events it will cause;
 * these are dropped when they come back. After an overflow nothing that the
 * guest has cached is believed any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>

#include "base/loop.h"

struct error;
struct node;
struct server;

#define WATCH_FOLDERS_MAX 65536
#define WATCH_BUCKETS 16384
#define WATCH_OWN_MAX 2048
#define WATCH_RECENT 1024
#define WATCH_HEARD_BYTES 16384

/* An event that we caused ourselves. */
struct watch_event {
	int32_t watch;
	uint32_t mask;
	uint32_t name; /* hash */
};

struct watch {
	struct source source;
	unsigned count;
	bool full;                       /* the kernel gives no more */
	uint32_t buckets[WATCH_BUCKETS]; /* first node, chained in the nodes */
	struct watch_event own[WATCH_OWN_MAX];
	unsigned own_count;
	uint64_t
		recent[WATCH_RECENT]; /* hashes of what was told in this turn */
	/* Events that were read and not told of yet. */
	uint8_t heard[WATCH_HEARD_BYTES]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	size_t heard_len;
	uint64_t names;     /* see watch_names() */
	uint64_t moves;     /* see watch_moves() */
	struct timer pause; /* between turns */
	uint32_t dropping;  /* after an overflow: next node to tell of; or 0 */
	bool drop_due;      /* see watch_drop_soon() */
};

int watch_init(struct server *server, struct error *err);
int watch_start(struct server *server, struct error *err);
void watch_release(struct server *server);
/* Reads what has happened, now; between answers. */
void watch_hear(struct server *server);
/*
 * A number that is another one as soon as a folder was moved or removed in a
 * watched one, something is called HEAD there or no longer, or a watch has
 * ended; 0: it cannot be said. Until now, whoever did it.
 */
uint64_t watch_names(struct server *server);
/*
 * A number that is another one as soon as something was moved or removed in a
 * watched folder, or a watch has ended, as far as was read by watch_names().
 */
uint64_t watch_moves(const struct server *server);
/* There is room for notifications again. */
void watch_resume(struct server *server);

/* Nothing may be believed any more; folders are watched anew. There must be
 * room. */
void watch_drop(struct server *server);
/* The same, as soon as there is. */
void watch_drop_soon(struct server *server);
/*
 * Another share is mounted there, or beneath it: the guest's kernel takes what
 * is mounted away with a name that it is told to forget.
 */
bool watch_leads_to_share(struct server *server, const struct node *folder,
			  const char *name);
/*
 * The guest's kernel shall ask for this name again, unless it leads to another
 * share: then it does so by itself, after a second. There must be room.
 */
void watch_tell_entry(struct server *server, struct node *folder,
		      const char *name);

/* What is cached of the node's content is wrong. There must be room. */
void watch_tell_content(struct server *server, struct node *node);

/* 1: watched from now on; 0: it was already; -1: it cannot be. */
int watch_folder(struct server *server, struct node *folder);
void watch_forget(struct server *server, struct node *node);
/* We caused these events (IN_*) of `name` in `folder`. */
void watch_own(struct server *server, const struct node *folder,
	       const char *name, uint32_t mask);
/* The same for a node where it lies; opened through its descriptor. */
void watch_own_node(struct server *server, const struct node *node,
		    uint32_t mask);
