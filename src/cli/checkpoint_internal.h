/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_internal.h - what the files of checkpoint_*.c share
 */
#pragma once

#include "cli/checkpoint.h"

/* Folders of one that is being made. */
struct making {
	const struct sandbox *sandbox;
	const struct checkpoint_wish *wish;
	int control;   /* owned: to the supervisor; -1: there is none */
	int machine;   /* owned: machine/ */
	int parent;    /* owned: checkpoints/ */
	int folder;    /* owned: the new one */
	char name[32]; /* its temporary name in parent */
	struct checkpoint record;
	double pause_ms;
};

/* checkpoint_take.c: fills the folder, and of the record memory and mark. */
int checkpoint_take(struct making *making, struct error *err);

/* checkpoint_files.c: no link is followed. */
int checkpoint_open_dir(int parent, const char *name, struct error *err);
int checkpoint_sync_file(int folder, const char *name, struct error *err);
int checkpoint_copy_unsynced(int from_folder, const char *from_name,
			     int to_folder, const char *to_name,
			     struct error *err);
int checkpoint_copy_file(int from_folder, const char *from_name, int to_folder,
			 const char *to_name, struct error *err);
