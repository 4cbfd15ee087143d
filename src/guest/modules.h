/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h - kernel modules of the initramfs
 */
#pragma once

#include "guest/slice.h"

#define MODULE_NAME_MAX 128
#define MODULE_SECTION_MAX 16

/*
 * Next file name of a modules.order text: one a line, "[section]" before those
 * of a section, comments with '#' and empty lines are passed over, and so is a
 * name with a '/' or one that does not fit. section becomes the one that it
 * belongs to. False at the end. Pure.
 */
bool modules_next(struct slice *order, char section[MODULE_SECTION_MAX],
		  char name[MODULE_NAME_MAX]);

/*
 * Loads /modules/NAME of /modules.order: the section [boot] now, the others by
 * a child, in their order, while the boot goes on; it also removes the files.
 * A module that is already there is fine; one that fails is logged: the wait
 * for the device that it drives says what is missing.
 */
void modules_load(void);
/* Until [gate] is loaded, or everything is. */
enum modules_stage {
	MODULES_GATE,
	MODULES_ALL,
};
void modules_wait(enum modules_stage stage);
