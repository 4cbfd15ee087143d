/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed.h - files that an agent finds in its home when it starts
 *
 * A tar archive of small files comes in. The host decides what is in them; it
 * cannot know what is there already, so that it hears of that first.
 */
#pragma once

struct error;

#define SEED_FILES_MAX 64
#define SEED_BYTES_MAX (1u << 20) /* of one file */

enum seed_mode {
	SEED_NEW,     /* what is there stays, and is written to out */
	SEED_REPLACE, /* what is there is replaced */
};

/* From now on this process is the user that sessions have. */
int seed_become_agent(int *home, struct error *err);
/* home, in and out are borrowed. Links are neither followed nor replaced. */
int seed_serve(int home, enum seed_mode mode, int in, int out,
	       struct error *err);
