/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - kernel modules of the initramfs
 */
#pragma once

#include "guest/slice.h"

#define MODULE_NAME_MAX 128

/*
 * Next file name of a modules.order text: one a line, comments with '#' and
 * empty lines are passed over, and so is a name with a '/' or one that does
 * not fit. False at the end. Pure.
 */
bool modules_next(struct slice *order, char name[MODULE_NAME_MAX]);

/*
 * Loads /modules/NAME for each name of /modules.order, in that order, once.
 * A module that is already there is fine; one that fails is logged: the wait
 * for the device that it drives says what is missing.
 */
void modules_load(void);
