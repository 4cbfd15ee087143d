/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - everything that a supervisor opens before it confines itself
 */
#pragma once

#include "supervisor/qemu.h"

struct error;
struct start_spec;

struct files {
	int folder;  /* machine/ of the sandbox's own */
	int alive;   /* the lock that says that we live */
	int events;  /* events.jsonl; -1 for MAKE_WARM */
	int log;     /* supervisor.log */
	int console; /* console.log, until taken */
	int control; /* listening socket; -1 for MAKE_WARM */
	struct qemu_files qemu;
};

/*
 * Root's files are opened with root's rights; those that the sandbox's uid
 * must go on using are given to it. On failure close what was opened.
 */
int files_open(const struct start_spec *spec, struct files *files,
	       struct error *err);
void files_close(struct files *files);
