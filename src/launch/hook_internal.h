/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_internal.h - between hook.c and hook_runner.c
 */
#pragma once

#include "launch/hook.h"

/* In the forked runner: until the launcher is gone. fd is its end. */
_Noreturn void hook_run(const json_t *settings, int fd);
