/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerfile.h - which images a Dockerfile builds on
 *
 * Not a parser of Dockerfiles: the engine that builds is that. This finds what
 * may have to be brought to it beforehand. A name with a variable in it is left
 * to the engine, and one too many does no harm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "oci/reference.h"

#define DOCKERFILE_MAX (1024u * 1024)
#define DOCKERFILE_BASES_MAX 16

struct dockerfile_bases {
	/* as written after FROM, each once; stages of the file are left out */
	char names[DOCKERFILE_BASES_MAX][REFERENCE_TEXT_MAX];
	size_t count;
	bool alone; /* the file is one FROM and no more */
};

/* Pure. Those that do not fit are left out. */
void dockerfile_find_bases(const char *text, size_t len,
			   struct dockerfile_bases *bases);
