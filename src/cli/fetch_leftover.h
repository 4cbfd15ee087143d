/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_leftover.h - what a git that failed leaves in the repository
 *
 * git writes objects to a file with a temporary name, as they come, and leaves
 * it there when it fails: as many bytes as a sandbox likes to send, until the
 * next `git gc` that finds it old enough. Which file that is, the git that
 * writes it knows: it has it open.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct fetch_leftover {
	pid_t git;  /* that fetches; -1: not known */
	int writer; /* owned: pidfd of its child; -1: none */
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
};

#define FETCH_LEFTOVER_INIT ((struct fetch_leftover){ .git = -1, .writer = -1 })

/* A path that git gives to objects which are not complete; pure. */
bool fetch_leftover_is(const char *path);
/* Looks which one is written just now. */
void fetch_leftover_look(struct fetch_leftover *left);
/*
 * Removes the file, if it still has that name, when its writer has ended. That
 * is after us, so a child of ours waits: who reads our output learns of its end
 * only when we, and the git that started us, are gone.
 */
void fetch_leftover_remove(struct fetch_leftover *left);
