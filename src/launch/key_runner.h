/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_runner.h - runs the commands that tell secrets
 *
 * They are the user's and do what the user can, so this process is made before
 * the launcher gives anything up. bawn-keys names a secret of the store; the
 * command is read here, so that nobody can have another one run:
 *   {"id", "scope", "name"}  ->  {"id", "value"} or {"id", "error"}
 */
#pragma once

#include <jansson.h>

struct error;

#define KEY_RUNNER_LIMIT_S 60

/* The end for bawn-keys, which the caller owns; -1. The process ends with the
 * launcher, or when nobody has that end any more. */
int key_runner_start(const json_t *settings, struct error *err);
