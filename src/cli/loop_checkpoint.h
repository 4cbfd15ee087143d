/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_checkpoint.h - a state before an iteration, to go back to
 */
#pragma once

#include <stddef.h>

struct error;

/* The label of a new checkpoint of the sandbox that runs. */
int loop_checkpoint_make(const char *name, char *label, size_t size,
			 struct error *err);
/* Machine and workspace as they were. */
int loop_checkpoint_restore(const char *name, const char *label,
			    struct error *err);
