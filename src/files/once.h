/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once.h - a request that must not be done twice
 */
#pragma once

#include <stdbool.h>

#include "files/ops.h"

/*
 * False: any number of times is the same. That is so for a write where the
 * request says, but not for one at the end; which comes again as one of the
 * first kind.
 */
bool once_counts(const struct op *op);
/*
 * As `serve`, unless a predecessor has done it: then with the answer that it
 * had for it.
 */
int once_serve(struct op *op, op_fn *serve);
