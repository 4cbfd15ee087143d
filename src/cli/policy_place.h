/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_place.h - which sandbox a command about the network means
 */
#pragma once

#include <stdbool.h>

#include "cli/options.h"
#include "cli/store.h"

struct error;

struct policy_place {
	bool global;            /* all sandboxes */
	struct sandbox sandbox; /* open unless global */
};

#define POLICY_PLACE_INIT ((struct policy_place){ .sandbox = SANDBOX_INIT })

static inline void policy_place_auto(struct policy_place *place)
{
	sandbox_close(&place->sandbox);
}
#define AUTO_POLICY_PLACE __attribute__((cleanup(policy_place_auto)))

/*
 * The sandbox of the current folder: the one whose workspace it is or lies in;
 * of several the nearest, then the one used last. err->code is ENOENT when
 * there is none.
 */
int policy_place_here(const struct store *store, struct sandbox *sandbox,
		      struct error *err);
/*
 * --sandbox and --global, or the first of the command's words where it has more
 * than `after` of them, or the current folder's. *used is how many words that
 * took, 0 or 1. The word "network" before them is passed over.
 */
int policy_place_find(const struct options *options, size_t after,
		      struct policy_place *place, size_t *used,
		      struct error *err);

/* --sandbox NAME and -g, --global; ends in a row without a name. */
extern const struct option_row policy_place_rows[];
