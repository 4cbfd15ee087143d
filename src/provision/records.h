/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - a walk over all sandboxes of this user
 */
#pragma once

#include <stdbool.h>

struct error;
struct sandbox_record;

/* alive: a supervisor runs. Sandboxes that cannot be read are passed over. */
typedef void records_fn(void *ctx, const struct sandbox_record *record,
			bool alive);

int records_each(records_fn *each, void *ctx, struct error *err);
