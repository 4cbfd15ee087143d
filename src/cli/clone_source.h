/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone_source.h - the git folder that clone mode clones from
 */
#pragma once

#include <stdbool.h>

struct error;
struct sandbox_record;
struct share_record;

bool clone_mode(const struct sandbox_record *record);

/* Where it is inside, read-only. */
#define CLONE_ORIGIN "/run/bawn/origin"
/* The workspace, while its uncommitted work is carried in. */
#define CLONE_CHANGES "/run/bawn/changes"

struct clone_source {
	char *host;   /* the folder that is shared */
	char *origin; /* what is cloned, seen from inside */
	bool bare;    /* no work tree: nothing uncommitted */
};

/* Release it also after a failure. */
int clone_source_of(const struct share_record *workspace,
		    struct clone_source *source, struct error *err);
void clone_source_release(struct clone_source *source);
#define AUTO_CLONE_SOURCE __attribute__((cleanup(clone_source_release)))
