/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen.h - hidden files of the host that may have names which are not hidden
 *
 * What is hidden is told by names, and a file may have others: a hard link of
 * `.env` shows the same bytes. The launcher's list names such files by what
 * they are; one that is in it, and has several names, is absent under each.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "files/node_table.h"

#define UNSEEN_MAX 4096

struct error;

struct unseen {
	struct node_key *files; /* owned; sorted */
	size_t count;
};

/*
 * Rows of four numbers: major and minor number of the device, inode, and when
 * it was made, in nanoseconds (0: nobody knows): a number is given again.
 */
int unseen_read(struct unseen *unseen, const json_t *list, struct error *err);
void unseen_release(struct unseen *unseen);
bool unseen_has(const struct unseen *unseen, const struct statx *st);
/* By number alone: worth a look. */
bool unseen_maybe(const struct unseen *unseen, uint64_t ino);
