/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_internal.h - between the files of undo.h
 */
#pragma once

#include "files/undo.h"
#include "undo/journal.h"

/* 0, or -1 when it could not be written: then it is said to be lost. */
int undo_append(struct undo *undo, const struct journal_record *record);
void undo_lost(struct undo *undo, unsigned share, const char *path,
	       const char *why);
/* Room for so many more bytes of saved files; -1: there is none. */
int undo_charge(struct undo *undo, uint64_t bytes);

/* Number of a new file in files/, with what fd (any kind) holds; 0: failed. */
uint32_t undo_save_copy(struct undo *undo, int fd, uint64_t size,
			uint64_t blocks);
/* user.* attributes of fd into undo->xattrs; their length. */
size_t undo_save_xattrs(struct undo *undo, int fd);

void undo_prune_start(struct server *server);
/* Takes the oldest segment but the current one away; false: there is none. */
bool undo_prune_oldest(struct undo *undo);
void undo_prune_timer(struct timer *timer);
