/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority.h - a certificate authority for one sandbox
 */
#pragma once

#include <stddef.h>

struct error;

#define AUTHORITY_DAYS 3650
#define AUTHORITY_PEM_MAX 4096

/* What belongs together, as PEM texts. */
struct authority_pair {
	char certificate[AUTHORITY_PEM_MAX];
	char key[AUTHORITY_PEM_MAX];
};

/* A new one; who sees its name knows which sandbox it is of. */
int authority_make(const char *sandbox, struct authority_pair *out,
		   struct error *err);
