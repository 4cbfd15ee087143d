/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_table.h - lines of /proc/self/mountinfo
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "guest/slice.h"

/*
 * Finds the next mount of this source and gives the path that it is at. Pure.
 * Lines that are cut, or a path that does not fit, are passed over.
 */
bool mount_table_next(struct slice *rest, const char *source, char *path,
		      size_t size);
