/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - variables of a session, and the search along its PATH
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct account;
struct message_strings;

struct environment {
	const char **vars; /* owned array, NULL-terminated; texts: see below */
	size_t count;
	char *defaults; /* owned: the texts of our own variables */
};

/*
 * Our defaults, then the message's variables on top. The texts of those are
 * borrowed from the message; what is not "K=V" is left out.
 */
void environment_build(struct environment *environment,
		       const struct account *account, bool terminal,
		       const struct message_strings *extra);
void environment_release(struct environment *environment);
/* Value of a variable, NULL when it is not set. */
const char *environment_get(const struct environment *environment,
			    const char *name);

/*
 * Walks a PATH: writes the next file name to try to out and returns true;
 * false at the end. path begins at the value and is moved on. Folders that
 * do not fit are passed over; an empty one is the current folder.
 */
bool environment_path_next(const char **path, const char *name, char *out,
			   size_t size);
