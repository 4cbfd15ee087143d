/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready.h - the sandbox of a folder, made and started as `create` does
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;
struct options;
struct sandbox;

/*
 * options are those of `create`. Both results are the caller's; keys are those
 * of the caller's environment, for its sessions.
 */
int ready_make(const struct options *options, struct sandbox *sandbox,
	       json_t **keys, bool *ran_before, struct error *err);
