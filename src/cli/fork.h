/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.h - new sandboxes from a checkpoint of another
 *
 * layers/NN.qcow2 of a fork are the disks that it stands on, 00 the lowest; and
 * origin/ is the memory that it starts with. Both are further names of the
 * checkpoint's files: what is removed of the one stays the other's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct checkpoint;
struct error;
struct sandbox;
struct start_spec;
struct store;

#define FORK_LAYERS "layers"
#define FORK_LAYERS_MAX 12
#define FORK_CHILDREN_MAX 64

struct fork_source {
	const struct sandbox *parent;
	const struct checkpoint *from;
	/* else a parent that writes to the host's folders has forks that write
	 * over them: overlay mode */
	bool shares_workspace;
};

/* PARENT-1, PARENT-2, … of which there is none; malloc'd. *next moves on. */
char *fork_free_name(const struct store *store, const char *parent,
		     unsigned *next);
/* A stopped sandbox called `name`. */
int fork_make(struct store *store, const struct fork_source *source,
	      const char *name, struct error *err);
/*
 * Gives the child what the parent's own top layer stands on, and the name of
 * the layer that comes next, beneath the child's folder.
 */
#define FORK_LAYER_NAME 32
int fork_share_layers(const struct sandbox *parent, const struct sandbox *child,
		      char next[FORK_LAYER_NAME], struct error *err);
/* The paths of its layers into spec->disks, the highest first. */
int fork_add_layers(const struct sandbox *sandbox, struct start_spec *spec,
		    struct error *err);
