/* SPDX-License-Identifier: Apache-2.0 */
/*
 * location.h - one side of `bawn cp`: a path of the host, of a sandbox, or a
 * pipe
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>

#include "tree/tree_copy.h"

struct error;
struct store;

enum location_kind {
	LOCATION_HOST,
	LOCATION_SANDBOX, /* NAME:PATH */
	LOCATION_PIPE,    /* - */
};

struct location {
	enum location_kind kind;
	char name[64];    /* of the sandbox */
	const char *path; /* borrowed */
};

/*
 * What begins with "/" or "." is a path of the host, and so is what has no
 * colon or none after the name of a sandbox.
 */
int location_parse(const char *text, struct location *location,
		   struct error *err);

/* A path of the host, and how it is opened. */
struct location_place {
	struct tree_place tree;
	char *path; /* owned: what tree.path points into */
};

/*
 * Folders that are shared with sandboxes are written by them: from there on no
 * link may lead out, or a guest could send the user's own command elsewhere.
 * ".." is taken by the text.
 */
int location_place(const char *path, const struct store *store,
		   struct location_place *place, struct error *err);
void location_close(struct location_place *place);
#define AUTO_PLACE __attribute__((cleanup(location_close)))
#define PLACE_INIT ((struct location_place){ .tree = { .base = AT_FDCWD } })
