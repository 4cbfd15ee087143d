/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_files.h - the row of bawn-files
 *
 * Its settings are the list of shares. A new list needs a new process, because
 * the old one has given up every path but its own; nodes live on in a memory
 * file.
 */
#pragma once

#include "launch/keeper.h"
#include "launch/single_files.h"

#define KEEPER_SHARES_MAX 64
#define KEEPER_FILES_BESIDE 4 /* descriptors: memories, a bell */

struct keeper_files {
	struct keeper keeper;
	/* why is NULL when the mark was set; ctx is the keeper's. */
	void (*on_mark)(void *ctx, const char *why);

	int beside[KEEPER_FILES_BESIDE]; /* borrowed; -1: none */

	/* private */
	int memory;           /* owned: the nodes */
	uint64_t initialised; /* bit n: the guest has mounted share n */
	struct keeper_lines lines;
	struct single_files single;
};

int keeper_files_init(struct keeper_files *files, struct loop *loop, int port,
		      int folder, const char *marker, struct error *err);
/* Takes the reference: a new list, while the old one is served. */
void keeper_files_change(struct keeper_files *files, json_t *settings);
/* Every share of the list is mounted in the guest. */
bool keeper_files_settled(const struct keeper_files *files);
/* -1 when there is no server. */
int keeper_files_mark(struct keeper_files *files, const char *label);
/* The guest shall ask anew for all that it was told. */
void keeper_files_forget(struct keeper_files *files);
/* Stands still; the table of nodes is on the disk with this marker. */
int keeper_files_freeze(struct keeper_files *files, const char *marker,
			struct error *err);
void keeper_files_release(struct keeper_files *files);
