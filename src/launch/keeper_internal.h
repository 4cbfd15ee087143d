/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_internal.h - between keeper.c and keeper_spawn.c
 */
#pragma once

#include "launch/keeper.h"

/*
 * Starts the program with a fresh next marker. The descriptors of control and
 * errors are set, also when it fails; the loop is not touched.
 */
int keeper_spawn(struct keeper *keeper, struct error *err);
