/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_limit.h - how much memory the git that called us may take
 *
 * A few bytes of a pack can say that an object has gigabytes, and git asks for
 * as much memory as it is told. git has no setting for that, and what reads the
 * objects are its children, not ours: so the limit is set from here, on the git
 * that waits for us, and those that it starts from now on inherit it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

#define FETCH_LIMIT_VARIABLE "BAWN_FETCH_MEMORY"

/* The parent in the text of /proc/PID/stat; -1 if that is not what it is. */
pid_t fetch_limit_parent(const char *stat);
/* Whether a command line (words that end with NUL) is that of a git that was
 * asked for `git remote-bawn` and waits for us. */
bool fetch_limit_is_caller(const char *words, size_t len);
/*
 * Half of the machine's memory, at most 4 GiB, or what the variable says; a
 * lower limit stays. -1 only if the variable is no size: a git that cannot be
 * found (-1 in *git), or is not ours to limit, goes on without.
 */
int fetch_limit_set(pid_t *git, struct error *err);
