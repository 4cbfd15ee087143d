/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h - where the time of a start went
 */
#pragma once

#include <jansson.h>

#define PHASES_MAX 16

struct phases {
	double last_ms;
	unsigned count;
	struct phase {
		const char *name; /* static text */
		double ms;
	} list[PHASES_MAX];
};

/* The clock begins. */
void phases_begin(struct phases *phases);
/* What was done since the last call is called `name`. */
void phases_end(struct phases *phases, const char *name);
/* {"name": milliseconds, …} */
json_t *phases_json(const struct phases *phases);
