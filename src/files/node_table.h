/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_table.h - what the guest's kernel knows, by numbers that prove nothing
 *
 * A node id is an index and a generation, never a pointer: an id that was made
 * up or kept too long finds nothing. A node is one host inode, known by device,
 * number and birth time; where it was last seen is a parent and a name, so that
 * it can be found again without a descriptor, and checked.
 *
 * The whole table is one flat region without pointers. It may lie in a memory
 * file that the supervisor keeps: a new process takes over the nodes of one
 * that died. What it finds there is checked, and all that can be derived
 * (hash chains, counts, free lists) is made anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct node_table;
struct reply_ring;

#define NODE_SHARES_MAX 64
#define NODE_NODES_MAX (1U << 20)
#define NODE_NAME_MAX 255
#define NODE_PATH_MAX 65536
#define NODE_DEPTH_MAX 1024

enum node_flag {
	NODE_LIVE = 1 << 0,
	NODE_READ_ONLY = 1 << 1, /* part of another share that is read-only */
	NODE_ORPHAN = 1 << 2,    /* we removed its last name */
	NODE_HELD = 1 << 3,      /* seen under a held name: held.h */
	NODE_RESERVED = 1 << 4,  /* not live: nothing but its id is given */
};

struct node_key {
	uint64_t dev, ino;
	uint64_t btime_ns; /* 0 where the file system has none */
	uint8_t share;
	bool shadow; /* the guest's own version: held.h */
};

struct node {
	struct node_key key;
	uint64_t lookups; /* how often the guest's kernel was given it */
	uint32_t generation;
	uint32_t parent;       /* index; 0: none */
	uint32_t name;         /* private: its first block; 0: none */
	uint32_t refs;         /* private: nodes that have it as parent */
	uint32_t hash_next;    /* private; free list when not live */
	uint32_t used;         /* node_fds.h: last request that used fd */
	uint32_t newer, older; /* node_fds.h: order of use */
	int32_t fd;            /* node_fds.h: -1 when none */
	int32_t watch;         /* watch.h: -1 when none */
	uint32_t watch_next;   /* watch.h */
	uint16_t type;         /* S_IFMT part of the mode */
	uint8_t fd_rights;     /* node_fds.h */
	uint8_t flags;
};

/* Called before a node is freed: descriptors and watches end there. */
typedef void node_free_fn(void *ctx, struct node *node);

/*
 * memory_fd: the memory file, borrowed, empty or as a predecessor left it; -1:
 * private memory.
 */
struct node_table *node_table_new(int memory_fd, struct error *err);
void node_table_free(struct node_table *table);
void node_table_on_free(struct node_table *table, node_free_fn *fn, void *ctx);

/* Makes or replaces the root of a share; its id is FUSE_ROOT_ID. */
struct node *node_table_set_root(struct node_table *table,
				 const struct node_key *key, uint16_t type);
/* Frees every node of a share but its root. */
void node_table_clear(struct node_table *table, unsigned share);

/* NULL: no such node now, or not in this share. */
struct node *node_table_by_id(struct node_table *table, unsigned share,
			      uint64_t id);
uint64_t node_table_id(const struct node_table *table, const struct node *node);
struct node *node_table_find(struct node_table *table,
			     const struct node_key *key);
/* The key must not be in the table. NULL: the table is full. */
struct node *node_table_add(struct node_table *table,
			    const struct node_key *key, uint16_t type);
/*
 * An id for something that will be made: node_table_claim() makes a node of it
 * that the guest's kernel was given once; its key must not be in the table.
 * Until then it finds nothing. It stays reserved for a successor. 0: the table
 * is full; NULL: it is not reserved.
 */
uint64_t node_table_reserve(struct node_table *table, unsigned share);
struct node *node_table_claim(struct node_table *table, uint64_t id,
			      const struct node_key *key, uint16_t type);
bool node_table_is_reserved(struct node_table *table, unsigned share,
			    uint64_t id);
/* It will never be claimed. */
void node_table_unreserve(struct node_table *table, unsigned share,
			  uint64_t id);
/* The next reserved one from index *at on, which goes on; 0: there is none. */
uint64_t node_table_next_reserved(struct node_table *table, uint32_t *at,
				  unsigned *share);
/* The node is another file from now on; -1: that one has a node. */
int node_table_rekey(struct node_table *table, struct node *node,
		     const struct node_key *key);
/*
 * -1: no room for the name; the node then has none. May free the old parent.
 * Who does not count a lookup as well calls node_table_forget(..., 0) after it:
 * what kept the node may have been beneath it only by the old places.
 */
int node_table_place(struct node_table *table, struct node *node,
		     struct node *parent, const char *name);
/* Forgets where it lies. */
void node_table_displace(struct node_table *table, struct node *node);
/* Frees it, and parents that only it kept, when nothing is left. */
void node_table_forget(struct node_table *table, struct node *node,
		       uint64_t count);

bool node_is_root(const struct node_table *table, const struct node *node);
/* NULL for a root and for a node without a place. */
struct node *node_parent(struct node_table *table, const struct node *node);
struct node *node_at(struct node_table *table, uint32_t index);
uint32_t node_index(const struct node_table *table, const struct node *node);
/* Returns the length; 0 when it has none. */
size_t node_name(const struct node_table *table, const struct node *node,
		 char name[NODE_NAME_MAX + 1]);
/*
 * Path of `name` in folder `node` from the share's root, without a slash in
 * front; name may be NULL. -1: it has no place, or too deep a one.
 */
int node_path(struct node_table *table, const struct node *node,
	      const char *name, char *path, size_t size);
size_t node_table_count(const struct node_table *table);
/* Highest index + 1, for walks over all nodes. */
uint32_t node_table_end(const struct node_table *table);

/* What the guest has added; kept with the nodes. */
struct node_usage {
	uint64_t bytes, inodes;
};
struct node_usage *node_table_usage(struct node_table *table, unsigned share);
/* Kept with the nodes too: reply_log.h. */
struct reply_ring *node_table_replies(struct node_table *table);
