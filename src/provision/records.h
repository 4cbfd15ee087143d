/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h - a walk over all sandboxes of this user
 */
#pragma once

struct error;
struct sandbox_record;

/*
 * folder is the sandbox's. record is NULL when it is there but cannot be read:
 * what the sandbox stands on is unknown then.
 */
typedef void records_fn(void *ctx, const struct sandbox_record *record,
			int folder);

int records_each(records_fn *each, void *ctx, struct error *err);
