/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c - where the time of a start went
 */
#include "supervisor/phases.h"

#include <time.h>

static double now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void phases_begin(struct phases *phases)
{
	*phases = (struct phases){ .last_ms = now_ms() };
}

void phases_end(struct phases *phases, const char *name)
{
	double now = now_ms();

	if (phases->count < PHASES_MAX)
		phases->list[phases->count++] =
			(struct phase){ name, now - phases->last_ms };
	phases->last_ms = now;
}

json_t *phases_json(const struct phases *phases)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < phases->count; i++)
		json_object_set_new(object, phases->list[i].name,
				    json_real(phases->list[i].ms));
	return object;
}
