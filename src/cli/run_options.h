/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.h - options that run and create share
 */
#pragma once

#include "cli/options.h"

extern const struct option_row run_options[];
