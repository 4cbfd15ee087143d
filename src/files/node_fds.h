/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_fds.h - descriptors for nodes: few, checked, the oldest closed first
 *
 * A node without a descriptor is opened from its parent's by its name, one
 * component, following nothing, and must turn out to be the same inode; if not,
 * the guest gets ESTALE and looks the name up again. There are no handles: OPEN
 * is answered ENOSYS, after which the guest's kernel opens without a message,
 * and reads and writes name their node. So nothing is lost with the process.
 *
 * The data of a node is opened through its own descriptor, as the name N in
 * the working folder, which is /proc/self/fd: the object that was checked is
 * the one that is opened, also when it has no name any more. Landlock judges
 * the file that is reached.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "files/node_table.h"

#define NODE_FDS_MAX 3000 /* one request may go over it by some 900 */

enum node_fd_right {
	NODE_FD_READ = 1 << 0,
	NODE_FD_WRITE = 1 << 1,
};

struct share;

struct node_fds {
	struct node_table *table;   /* borrowed */
	const int *root_fds;        /* borrowed; by share */
	const struct share *shares; /* borrowed; for what is in a shadow */
	uint32_t newest, oldest;
	unsigned count, max;
	uint32_t request; /* descriptors used in this one stay open */
	uint32_t swept;   /* private: the request of the last sweep */
	/* Told when room is made by closing one that was written; or NULL. */
	node_free_fn *evicted;
	void *ctx;
};

void node_fds_init(struct node_fds *fds, struct node_table *table,
		   const int *root_fds, const struct share *shares,
		   unsigned max);
/* Closes what is too much; descriptors got before may be gone now. */
void node_fds_begin_request(struct node_fds *fds);

/* All of these return a borrowed descriptor or a negative errno. */
int node_fds_path(struct node_fds *fds, struct node *node);
/* A folder, as a place for names; -ENOTDIR otherwise. */
int node_fds_folder(struct node_fds *fds, struct node *node);
/* A regular file (or, for reading, a folder) opened for `rights`. */
int node_fds_data(struct node_fds *fds, struct node *node, unsigned rights);
/* 0 or a negative errno; costs one system call where possible. */
int node_fds_stat(struct node_fds *fds, struct node *node, struct statx *st);

/*
 * A node with a descriptor that was last seen there but is not `other`: what
 * was replaced. NULL: none.
 */
struct node *node_fds_replaced(struct node_fds *fds, const struct node *folder,
			       const char *name, const struct node *other);

/* Consumes fd, which is this node's, opened with `rights`. */
void node_fds_take(struct node_fds *fds, struct node *node, int fd,
		   unsigned rights);
void node_fds_drop(struct node_fds *fds, struct node *node);
void node_fds_drop_all(struct node_fds *fds);
/*
 * Gives write access back that was not used since the last call: a file that
 * somebody holds open for writing cannot be run on the host. `closed` is told
 * of each. Returns how many are left because they were used.
 */
unsigned node_fds_sweep(struct node_fds *fds, node_free_fn *closed, void *ctx);
