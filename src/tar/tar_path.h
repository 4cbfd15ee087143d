/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_path.h - the name that an archive gives an entry, made safe
 */
#pragma once

#include <stddef.h>

struct error;

#define TAR_PATH_MAX 4096 /* with the NUL */
#define TAR_NAME_MAX 255  /* one component, as in ext4 */

/*
 * Writes the one spelling of a path beneath the root: "./usr//bin/" becomes
 * "usr/bin", "./" becomes "". Absolute paths, "..", empty names, a NUL,
 * components over TAR_NAME_MAX and paths over TAR_PATH_MAX are errors.
 * Pure: no file system is asked, so links are the caller's business.
 */
int tar_path_normalise(const char *name, size_t len, char out[TAR_PATH_MAX],
		       struct error *err);
