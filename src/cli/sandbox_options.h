/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_options.h - what a sandbox is to be: options of run, create and loop
 */
#pragma once

#include "cli/options.h"

extern const struct option_row sandbox_options[];
