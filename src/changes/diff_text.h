/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_text.h - changes as git prints them
 *
 * What git's format cannot say (the mode of a folder, an empty folder,
 * attributes, a conflict, what the guard holds) stands in lines that begin with
 * "# ", which git and patch skip.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct change;
struct error;

struct diff_source {
	int root;           /* the host's folder */
	int set;            /* the archive that entries point into */
	const char *prefix; /* of paths, as "srv/x/"; "" for the workspace */
	bool terminal;      /* nothing that moves the cursor may come out */
};

struct diff_stat {
	bool binary;
	size_t removed, added;       /* lines, when not binary */
	uint64_t old_size, new_size; /* bytes */
};

/* One change, to out; stat may be NULL. out may be NULL: then only stat. */
int diff_text_print(const struct diff_source *source,
		    const struct change *change, FILE *out,
		    struct diff_stat *stat, struct error *err);

/* As git writes a name: in quotes with escapes where it must. malloc'd. */
char *diff_text_quote(const char *prefix, const char *path);
/* A line without its newline; on a terminal, made fit for it. */
void diff_text_line(FILE *out, const char *line, size_t len, bool terminal);
