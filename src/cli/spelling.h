/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spelling.h - the names that this program is called by
 *
 * `docker-sandbox` is a plugin of the Docker client, which calls it with its
 * own options and the word "sandbox" first; `sbx` is the standalone spelling.
 * Both have a part of bawn's commands, with the same options. `ralph` and
 * `ralph.sh` are the loop alone.
 */
#pragma once

#include <stdbool.h>

struct error;

enum spelling {
	SPELLING_BAWN,
	SPELLING_DOCKER,
	SPELLING_SBX,
	SPELLING_RALPH, /* one command: `loop`, with other words */
};

/* By the last part of argv[0]; remembered for spelling_now(). */
enum spelling spelling_of(const char *program);
enum spelling spelling_now(void);
/* What the user types: "bawn", "docker sandbox", "sbx". */
const char *spelling_program(void);
/* Whether this spelling has commands that begin with this word. */
bool spelling_has(const char *word);

/* A command that another tool has, and that has nothing to do here. */
bool spelling_is_needless(const char *word);

/* What the Docker client puts before our words. */
struct spelling_prefix {
	int words;  /* how many */
	bool debug; /* one of them asks for more output */
	bool help;  /* `docker help sandbox ...` */
};

/* -1 when it is called by hand in a way that the client never does. */
int spelling_skip(int argc, const char *const *argv,
		  struct spelling_prefix *prefix, struct error *err);
/* The client asks what kind of plugin this is; true when it was answered. */
bool spelling_metadata(int argc, const char *const *argv);
