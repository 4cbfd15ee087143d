/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single_files.h - shares that are one file, which the host may replace
 *
 * An editor writes a new file and gives it the old one's name. bawn-files has
 * the old one, and could not open the new one: it gave up every path but that
 * file. So its successor does, which is started when the folder that holds the
 * name says that another file has it. A file that is removed stays as it was
 * until there is another.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"

#define SINGLE_FILES_MAX 64

struct single_file {
	char *path; /* owned */
	dev_t dev;
	ino_t ino;
};

struct single_files {
	/* Another file has the name of one; false: not now, ask again. */
	bool (*on_replaced)(void *ctx);
	void *ctx;

	/* private */
	struct loop *loop; /* borrowed */
	struct source events;
	struct timer settle;
	struct single_file files[SINGLE_FILES_MAX];
	size_t count;
	uint64_t last_ms;
};

void single_files_init(struct single_files *single, struct loop *loop);
/* Before a server opens the shares of these settings (config.h of files). */
void single_files_look(struct single_files *single, const json_t *settings);
void single_files_release(struct single_files *single);
