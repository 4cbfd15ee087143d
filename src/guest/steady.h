/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - how a relay lives: what it depends on cannot be taken away by
 * accident
 */
#pragma once

#include <stddef.h>

/*
 * In a child that was just forked: ignores signals, is not chosen when memory
 * runs out, keeps its memory, leaves the session of its parent. files: how
 * many descriptors it may have.
 */
void steady_begin(const char *name, unsigned files);
/*
 * Moves the descriptors to 3, 4, ... (-1 stays -1) and closes all others; 0 to
 * 2 stay. At most 16.
 */
void steady_keep(int *fds, size_t count);
