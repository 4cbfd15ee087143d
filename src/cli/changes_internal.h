/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_internal.h - the files of a frozen set of changes
 */
#pragma once

#include "cli/changes.h"

struct stream;

#define CHANGES_NAME_MAX 32

/* "3.tar" */
void changes_name(char name[CHANGES_NAME_MAX], unsigned number,
		  const char *ending);
/* Empties one that is there. */
int changes_create_file(int folder, const char *name, struct error *err);
/* The guest's archive, to fd. */
int changes_receive(struct stream *stream, int fd, struct error *err);
/* The base of all paths that one->set touches, to one->base. */
int changes_load_base(const struct changes *changes, struct changes_share *one,
		      struct error *err);
/*
 * Writes NUMBER.merged: NUMBER.scan for the paths that the set does not touch,
 * the old base for those that it does.
 */
int changes_merge_base(const struct changes *changes,
		       const struct changes_share *one,
		       const struct base_list *same, struct error *err);
int changes_load_guard(struct changes *changes, struct error *err);
/* Before paths of one->list are selected. */
void changes_mark_held(const struct changes *changes,
		       struct changes_share *one);
