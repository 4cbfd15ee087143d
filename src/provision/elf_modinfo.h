/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_modinfo.h - what a kernel module says about itself
 */
#pragma once

#include <stddef.h>

struct error;

/*
 * Finds "key=value" in section .modinfo of a 64-bit little-endian ELF file and
 * copies the value of the first one. Returns 1, or 0 when there is no such
 * key (value is then ""), or -1 when the file is malformed. Pure.
 */
int elf_modinfo_find(const void *elf, size_t len, const char *key, char *value,
		     size_t size, struct error *err);
