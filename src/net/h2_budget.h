/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_budget.h - how often a peer may do what costs us and brings it nothing
 *
 * So many at once, and so many in each second after that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct h2_budget {
	unsigned burst, per_second;
	unsigned spent;
	uint64_t since_ms; /* from when on the next ones are given back */
};

/* False: that was one too many. */
static inline bool h2_budget_spend(struct h2_budget *budget, uint64_t now_ms)
{
	uint64_t back = (now_ms - budget->since_ms) * budget->per_second / 1000;

	if (back > 0) {
		budget->spent = back < budget->spent
					? budget->spent - (unsigned)back
					: 0;
		budget->since_ms = now_ms;
	}
	if (budget->spent >= budget->burst)
		return false;
	budget->spent++;
	return true;
}
