/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysfile.h - one-line files of /proc, /sys and cgroups
 *
 * No struct error: most callers try something that an older kernel may lack.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* One write() of text to an existing file; -1 with errno. */
int sysfile_write(int dirfd, const char *path, const char *text);
/*
 * At most size - 1 bytes, always terminated; returns the length, -1 with
 * errno. What does not fit is cut.
 */
ssize_t sysfile_read(int dirfd, const char *path, char *text, size_t size);
