/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_note.h - what git's format cannot say of a change
 */
#pragma once

#include <stdio.h>

struct change;
struct diff_source;
struct tar_xattr;

/* Lines that begin with "# ", none when there is nothing to say. */
void diff_note_print(const struct diff_source *source,
		     const struct change *change, FILE *out);
/*
 * Calls differs() for each attribute that the change sets or removes: what the
 * host has and what it gets, either of them NULL when there is none.
 */
void diff_note_attributes(const struct diff_source *source,
			  const struct change *change,
			  void (*differs)(void *ctx,
					  const struct tar_xattr *old_one,
					  const struct tar_xattr *new_one),
			  void *ctx);
