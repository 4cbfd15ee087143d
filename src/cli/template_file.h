/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_file.h - a template into an archive that appears as a whole
 */
#pragma once

struct error;

/* What is there already must be a file; said before anything is begun. */
int template_file_check(const char *path, struct error *err);
/* In the place of an older one. */
int template_file_write(const char *name, const char *path, struct error *err);
